// A conversation in the list: its name, a dot while its answer runs, its menu; renamed in place.

import { useState } from "react";
import { href } from "../app/routes";
import { useWords } from "../i18n/language";
import { rename, titleOf } from "./actions";
import { ConversationMenu } from "./ConversationMenu";
import { type Conversation, isOpen, lastProtocol } from "./conversation";
import { TitleField } from "./TitleField";

interface Props {
  readonly conversation: Conversation;
  readonly isShown: boolean;
  readonly onChosen: (() => void) | undefined;
}

export function ConversationRow({ conversation, isShown, onChosen }: Props) {
  const [isRenaming, setRenaming] = useState(false);
  const done = (title: string | null) => {
    setRenaming(false);
    if (title !== null) rename(conversation.id, title);
  };
  return (
    <li className={isShown ? "conv on" : "conv"}>
      {isRenaming ? (
        <TitleField title={titleOf(conversation)} onDone={done} />
      ) : (
        <Link conversation={conversation} isShown={isShown} onChosen={onChosen} />
      )}
      <ConversationMenu conversation={conversation} isShown={isShown} onRename={() => setRenaming(true)} />
    </li>
  );
}

function Link({ conversation, isShown, onChosen }: Props) {
  const { list } = useWords();
  const last = conversation.turns.at(-1)?.answer;
  return (
    <a
      href={href("chat", conversation.id)}
      aria-current={isShown || undefined}
      title={titleOf(conversation)}
      onClick={onChosen}
    >
      <span>{titleOf(conversation)}</span>
      {last && isOpen(last) && (
        <i className="live" data-p={lastProtocol(last)} role="img" aria-label={list.running} />
      )}
    </a>
  );
}
