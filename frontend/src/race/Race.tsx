// A place for the view.

import { useWords } from "../i18n/language";

export function Race() {
  const { views } = useWords();
  return <main aria-label={views.race} />;
}
