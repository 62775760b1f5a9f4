// An answer: its text, what went wrong, and its figures. Only this is drawn anew each frame.

import { lazy, Suspense } from "react";
import { useWords } from "../i18n/language";
import { type Conversation, lastProtocol, type Turn } from "./conversation";
import { Extras } from "./Extras";
import { Foot } from "./Foot";
import type { Live } from "./following";
import { useLive } from "./service";
import { Trouble } from "./Trouble";
import { Waiting } from "./Waiting";

// Asked for at once, so that it is there when the first word is.
const body = import("./AnswerBody");
const AnswerBody = lazy(async () => ({ default: (await body).AnswerBody }));

interface Props {
  readonly conversation: Conversation;
  readonly turn: Turn;
  readonly onEdit: (turn: Turn) => void;
}

export function AnswerView({ conversation, turn, onEdit }: Props) {
  const { thread } = useWords();
  const live = useLive(turn.answer);
  const { answer } = live;
  return (
    <article className="a" aria-label={thread.assistant} aria-busy={answer.state === "running"}>
      <Extras answer={answer} />
      <Suspense fallback={<Plain live={live} />}>
        <AnswerBody live={live} />
      </Suspense>
      <Trouble conversation={conversation} turn={turn} answer={answer} onEdit={onEdit} />
      <Foot conversation={conversation} turn={turn} live={live} />
    </article>
  );
}

/** Until the Markdown is loaded. */
function Plain({ live }: { readonly live: Live }) {
  const { answer } = live;
  if (!answer.text) return answer.state === "running" ? <Waiting live={live} /> : null;
  return (
    <div className="part md plain" data-p={lastProtocol(answer)}>
      {answer.text}
    </div>
  );
}
