// The bar: brand, views, readiness, language, theme, settings. On phones the views stay and the rest moves into the
// drawers.

import { useWords } from "../i18n/language";
import { Button, IconButton } from "../ui/Button";
import { Brand } from "./Brand";
import { togglePanel } from "./panels";
import { setPreferences, usePreferences } from "./preferences";
import { Ready } from "./Ready";
import { href, useRoute, VIEWS } from "./routes";

export function Bar() {
  const { bar, views } = useWords();
  const { lang, theme } = usePreferences();
  const { view } = useRoute();
  return (
    <header className="bar">
      {view === "chat" && (
        <IconButton
          className="only-narrow"
          icon="menu"
          label={bar.conversations}
          onClick={() => togglePanel("list")}
        />
      )}
      <Brand />
      <nav className="views" aria-label={views.label}>
        {VIEWS.map((name) => (
          <a key={name} href={href(name)} aria-current={name === view ? "page" : undefined}>
            {views[name]}
          </a>
        ))}
      </nav>
      <span className="grow only-desk" />
      <Ready />
      <Button
        kind="quiet"
        className="only-desk"
        lang={lang === "ja" ? "en" : "ja"}
        aria-label={bar.otherLanguageLabel}
        onClick={() => setPreferences({ lang: lang === "ja" ? "en" : "ja" })}
      >
        {bar.otherLanguage}
      </Button>
      <IconButton
        className="only-desk"
        icon="sun"
        label={bar.theme}
        onClick={() => setPreferences({ theme: theme === "dark" ? "light" : "dark" })}
      />
      <IconButton icon="sliders" label={bar.settings} onClick={() => togglePanel("settings")} />
    </header>
  );
}
