// The shell: the bar, and the view of the address. Race and Wire come when they are first looked at.

import { lazy, Suspense, useEffect } from "react";
import { I18nProvider } from "react-aria-components";
import { Chat } from "../chat/Chat";
import { SettingsDrawer } from "../chat/SettingsDrawer";
import { useWords } from "../i18n/language";
import { Bar } from "./Bar";
import { Boundary } from "./Boundary";
import { usePreferences } from "./preferences";
import { useRoute } from "./routes";
import { UndoLine } from "./UndoLine";

const Race = lazy(async () => ({ default: (await import("../race/Race")).Race }));
const Wire = lazy(async () => ({ default: (await import("../wire/Wire")).Wire }));

const VIEW = { chat: Chat, race: Race, wire: Wire } as const;

export function App() {
  const { view } = useRoute();
  const { lang } = usePreferences();
  const { views, loading } = useWords();
  const Shown = VIEW[view];
  useEffect(() => {
    document.title = `${views[view]} · Polystream`;
  }, [views, view]);
  return (
    <I18nProvider locale={lang}>
      <div className="app">
        <Bar />
        <Boundary of={view}>
          <Suspense fallback={<main className="loading" aria-busy="true" aria-label={loading} />}>
            <Shown />
          </Suspense>
        </Boundary>
        <SettingsDrawer />
        <UndoLine />
      </div>
    </I18nProvider>
  );
}
