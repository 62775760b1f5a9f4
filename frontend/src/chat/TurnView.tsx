// A question and its answer, with what was left out before them.

import { memo } from "react";
import { useWords } from "../i18n/language";
import { IconButton } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { AnswerView } from "./AnswerView";
import type { Conversation, Turn } from "./conversation";
import { useLive } from "./service";

interface Props {
  readonly conversation: Conversation;
  readonly turn: Turn;
  readonly onEdit: (turn: Turn) => void;
}

export const TurnView = memo(function TurnView({ conversation, turn, onEdit }: Props) {
  const { thread } = useWords();
  return (
    <>
      <div className="ask">
        <IconButton icon="edit" label={thread.edit} onClick={() => onEdit(turn)} />
        <article className="q" aria-label={thread.you}>
          {turn.ask}
        </article>
      </div>
      <Omitted turn={turn} />
      <AnswerView conversation={conversation} turn={turn} onEdit={onEdit} />
    </>
  );
});

function Omitted({ turn }: { readonly turn: Turn }) {
  const { trimmed } = useWords();
  const { omitted } = useLive(turn.answer).answer;
  return omitted > 0 ? <Notice>{trimmed(omitted)}</Notice> : null;
}
