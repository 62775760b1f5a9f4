// A place for the view.

import { useWords } from "../i18n/language";

export function Wire() {
  const { views } = useWords();
  return <main aria-label={views.wire} />;
}
