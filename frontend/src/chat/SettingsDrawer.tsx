// The settings: those of the conversation, how SSE is read, language and theme; export and delete at the foot. All
// apply at once.

import { useMedia, WIDE } from "../app/media";
import { openPanel, useOpenPanel } from "../app/panels";
import { ReadyList } from "../app/Ready";
import { useReadiness } from "../app/readiness";
import { useRoute } from "../app/routes";
import { useWords } from "../i18n/language";
import { Button, IconButton } from "../ui/Button";
import { Drawer } from "../ui/Drawer";
import { exportAs, remove } from "./actions";
import type { Conversation } from "./conversation";
import { PageSettings } from "./PageSettings";
import { SamplingFields } from "./SamplingFields";
import { useConversation } from "./service";
import { changeSettings, useSettings } from "./settings";

export function SettingsDrawer() {
  const { settings } = useWords();
  const { view, id } = useRoute();
  const conversation = useConversation(view === "chat" ? id : null);
  const isWide = useMedia(WIDE);
  const isOpen = useOpenPanel() === "settings";
  const state = useReadiness();
  const close = () => openPanel(null);
  if (!isOpen) return null;
  return (
    <Drawer side="right" modal={!isWide} label={settings.title} onClose={close}>
      {/* No header and footer: outside of main these would be the page's. */}
      <div className="head">
        <h2 className="grow">{settings.title}</h2>
        <IconButton icon="x" label={settings.close} onClick={close} />
      </div>
      <div className="body">
        <Instructions conversation={conversation} />
        <SamplingFields key={conversation?.id ?? "new"} conversation={conversation} />
        <PageSettings conversation={conversation} />
        <section className="only-phone state">
          <ReadyList state={state} />
        </section>
      </div>
      {conversation && <Foot conversation={conversation} />}
    </Drawer>
  );
}

function Instructions({ conversation }: { readonly conversation: Conversation | undefined }) {
  const { settings: words } = useWords();
  const { system } = useSettings(conversation);
  return (
    <label className="field">
      <span>{words.system}</span>
      <textarea
        className="in"
        rows={3}
        placeholder={words.systemHint}
        value={system}
        onChange={(event) => changeSettings(conversation?.id, { system: event.target.value })}
      />
    </label>
  );
}

function Foot({ conversation }: { readonly conversation: Conversation }) {
  const { settings } = useWords();
  return (
    <div className="foot">
      <Button kind="quiet" icon="save" onClick={() => exportAs(conversation, "md")}>
        Markdown
      </Button>
      <Button kind="quiet" icon="save" onClick={() => exportAs(conversation, "json")}>
        JSON
      </Button>
      <span className="grow" />
      <Button kind="danger" icon="trash" onClick={() => remove(conversation, true)}>
        {settings.delete}
      </Button>
    </div>
  );
}
