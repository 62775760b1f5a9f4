// What becomes of an answer without readers, how SSE is read, language and theme.

import { setPreferences, usePreferences } from "../app/preferences";
import { useWords } from "../i18n/language";
import { Segmented } from "../ui/Segmented";
import type { Conversation, OnDisconnect } from "./conversation";
import { changeSettings, useSettings } from "./settings";

const WAYS: readonly OnDisconnect[] = ["grace", "continue", "cancel"];

export function PageSettings({ conversation }: { readonly conversation: Conversation | undefined }) {
  return (
    <>
      <WhenLost conversation={conversation} />
      <SseThrough />
      <div className="two">
        <Language />
        <Theme />
      </div>
    </>
  );
}

function WhenLost({ conversation }: { readonly conversation: Conversation | undefined }) {
  const { settings: words } = useWords();
  const { onDisconnect } = useSettings(conversation);
  return (
    <label className="field">
      <span>{words.lost}</span>
      <select
        className="in"
        value={onDisconnect}
        onChange={(event) =>
          changeSettings(conversation?.id, { onDisconnect: event.target.value as OnDisconnect })
        }
      >
        {WAYS.map((way) => (
          <option key={way} value={way}>
            {words.onDisconnect[way]}
          </option>
        ))}
      </select>
    </label>
  );
}

function SseThrough() {
  const { settings: words } = useWords();
  const { eventSource } = usePreferences();
  return (
    <div className="field">
      <span>{words.sse}</span>
      <Segmented
        label={words.sse}
        value={eventSource ? "EventSource" : "fetch"}
        choices={[
          { value: "fetch", label: "fetch" },
          { value: "EventSource", label: "EventSource" },
        ]}
        onChange={(value) => setPreferences({ eventSource: value === "EventSource" })}
      />
      <small>{words.sseHint}</small>
    </div>
  );
}

function Language() {
  const { settings: words } = useWords();
  const { lang } = usePreferences();
  return (
    <div className="field">
      <span>{words.language}</span>
      <Segmented
        label={words.language}
        value={lang}
        choices={[
          { value: "en", label: <span lang="en">English</span> },
          { value: "ja", label: <span lang="ja">日本語</span> },
        ]}
        onChange={(value) => setPreferences({ lang: value })}
      />
    </div>
  );
}

function Theme() {
  const { settings: words } = useWords();
  const { theme } = usePreferences();
  return (
    <div className="field">
      <span>{words.theme}</span>
      <Segmented
        label={words.theme}
        value={theme}
        choices={[
          { value: "light", label: words.light },
          { value: "dark", label: words.dark },
        ]}
        onChange={(value) => setPreferences({ theme: value })}
      />
    </div>
  );
}
