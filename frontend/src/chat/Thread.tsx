// The thread of a conversation: its head, what was asked and answered, and the composer below.

import { useState } from "react";
import { useWords } from "../i18n/language";
import { Button } from "../ui/Button";
import { Announcer } from "./Announcer";
import { askAgain, rename, send, titleOf } from "./actions";
import { Composer } from "./Composer";
import { ConversationMenu } from "./ConversationMenu";
import type { Conversation, Turn } from "./conversation";
import { Empty } from "./Empty";
import { ModelPicker } from "./ModelPicker";
import { useSettings } from "./settings";
import { TitleField } from "./TitleField";
import { TurnView } from "./TurnView";
import { useStick } from "./useStick";

interface Props {
  readonly conversation: Conversation | undefined;
}

export function Thread({ conversation }: Props) {
  const { thread } = useWords();
  const { scroll, content, isStuck, stick } = useStick();
  const [edited, setEdited] = useState<Turn | null>(null);
  const [suggested, setSuggested] = useState("");
  const submit = (text: string) => {
    if (conversation && edited) askAgain(conversation, edited, text);
    else send(conversation, text);
    setEdited(null);
    stick();
  };
  const turns = conversation?.turns ?? [];
  return (
    <section className="thread">
      <Head conversation={conversation} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <div ref={scroll} className="scroll" tabIndex={0} role="log" aria-live="off" aria-label={thread.label}>
        <div ref={content} className="col">
          {turns.length === 0 && <Empty onChoose={setSuggested} />}
          <div className="turns">
            {conversation &&
              turns.map((turn) => (
                <TurnView key={turn.id} conversation={conversation} turn={turn} onEdit={setEdited} />
              ))}
          </div>
        </div>
      </div>
      <div className="dock">
        <Announcer answer={turns.at(-1)?.answer} />
        {!isStuck && turns.length > 0 && (
          <Button kind="line" className="latest" icon="down" onClick={stick}>
            {thread.latest}
          </Button>
        )}
        <Composer
          key={edited?.id ?? `new${suggested}`}
          conversation={conversation}
          edited={edited}
          suggested={suggested}
          onSubmit={submit}
          onCancel={() => setEdited(null)}
        />
      </div>
    </section>
  );
}

function Head({ conversation }: Props) {
  const { list } = useWords();
  const { model } = useSettings(conversation);
  const [isRenaming, setRenaming] = useState(false);
  const done = (title: string | null) => {
    setRenaming(false);
    if (title !== null && conversation) rename(conversation.id, title);
  };
  return (
    <header>
      {conversation && isRenaming ? (
        <div className="grow">
          <TitleField title={titleOf(conversation)} onDone={done} />
        </div>
      ) : (
        <h1 className="grow">{conversation ? titleOf(conversation) : list.new}</h1>
      )}
      <ModelPicker conversationId={conversation?.id} chosen={model} />
      {conversation && (
        <ConversationMenu
          className="only-desk"
          conversation={conversation}
          isShown
          onRename={() => setRenaming(true)}
        />
      )}
    </header>
  );
}
