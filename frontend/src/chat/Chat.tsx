// Chat: conversations, the thread, and the figures of its last answer.

import { LISTED, useMedia, WIDE } from "../app/media";
import { openPanel, useOpenPanel } from "../app/panels";
import { useRoute } from "../app/routes";
import { useWords } from "../i18n/language";
import { Drawer } from "../ui/Drawer";
import { Panel } from "./Panel";
import { SideList } from "./SideList";
import { useConversation, useStore } from "./service";
import { Thread } from "./Thread";

export function Chat() {
  const { bar } = useWords();
  const { id } = useRoute();
  const { loaded } = useStore();
  const conversation = useConversation(id);
  const isListed = useMedia(LISTED);
  const isWide = useMedia(WIDE);
  const panel = useOpenPanel();
  const close = () => openPanel(null);
  return (
    <main className="chat">
      {isListed && (
        <aside className="side" aria-label={bar.conversations}>
          <SideList shownId={id} />
        </aside>
      )}
      {!isListed && panel === "list" && (
        <Drawer side="left" modal label={bar.conversations} onClose={close}>
          <div className="side">
            <SideList shownId={id} onChosen={close} />
          </div>
        </Drawer>
      )}
      {loaded ? <Thread key={id ?? "new"} conversation={conversation} /> : <section className="thread" />}
      {isWide && <Panel answer={conversation?.turns.at(-1)?.answer} />}
    </main>
  );
}
