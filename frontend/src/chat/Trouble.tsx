// What went wrong with an answer: what happened, what is safe, what to do.

import { useEffect } from "react";
import { useModels } from "../app/models";
import { checkNow } from "../app/readiness";
import { useWords } from "../i18n/language";
import { Button } from "../ui/Button";
import { copy } from "../ui/CopyButton";
import { Notice } from "../ui/Notice";
import { askAgain } from "./actions";
import type { Answer, Conversation, Turn } from "./conversation";
import { answers } from "./service";
import { changeSettings } from "./settings";
import { useSeconds } from "./useSeconds";

interface Props {
  readonly conversation: Conversation;
  readonly turn: Turn;
  readonly answer: Answer;
  readonly onEdit: (turn: Turn) => void;
}

export function Trouble(props: Props) {
  const hasFailed = props.answer.state === "failed";
  useEffect(() => {
    if (hasFailed) void checkNow(); // the engine may be why
  }, [hasFailed]);
  switch (props.answer.state) {
    case "busy":
      return <Busy answer={props.answer} />;
    case "failed":
      return <Failed {...props} />;
    case "lost":
      return <Lost {...props} />;
    default:
      return null;
  }
}

function Busy({ answer }: { readonly answer: Answer }) {
  const { busy, sendNow, cancelResend } = useWords();
  const left = useSeconds(answer.resendAt);
  return (
    <Notice
      icon="clock"
      title={busy(left)}
      actions={
        <>
          <Button kind="line" icon="redo" onClick={() => answers.retryNow(answer.id)}>
            {sendNow}
          </Button>
          <Button kind="quiet" onClick={() => void answers.stop(answer.id)}>
            {cancelResend}
          </Button>
        </>
      }
    />
  );
}

function Failed({ conversation, turn, answer, onEdit }: Props) {
  const { errors, failed, thread } = useWords();
  const code = answer.failure?.code ?? "unknown";
  const said = errors[code] ?? errors.unknown;
  const other = useModels().find(({ id, state }) => state === "ready" && id !== answer.model);
  const events = answer.position + 1;
  const again = () => askAgain(conversation, turn);
  const tryOther = () => {
    if (!other) return;
    changeSettings(conversation.id, { model: other.id });
    again();
  };
  return (
    <Notice
      kind="danger"
      title={said?.title}
      code={[code, answer.streamId].filter(Boolean).join(" · ")}
      actions={
        <>
          {NEEDS_WORDS.has(code) ? (
            <Button kind="line" icon="edit" onClick={() => onEdit(turn)}>
              {thread.edit}
            </Button>
          ) : (
            <Button kind="line" icon="redo" onClick={again}>
              {failed.again}
            </Button>
          )}
          {other && (
            <Button kind="line" onClick={tryOther}>
              {failed.use(other.id)}
            </Button>
          )}
          <Button kind="quiet" onClick={() => void copy(details(answer))}>
            {failed.copy}
          </Button>
        </>
      }
    >
      {answer.text && failed.safe(events)}
      {said?.todo}
      {SAYS_WHY.has(code) && <small>{answer.failure?.message}</small>}
    </Notice>
  );
}

/** Codes that the same message would meet again. */
const NEEDS_WORDS = new Set(["context_length_exceeded", "too_large", "content_filter", "invalid_request"]);

/** Codes of which the server's own words say what is wrong. */
const SAYS_WHY = new Set(["invalid_request", "upstream_error", "content_filter", "unknown"]);

function Lost({ conversation, turn, answer }: Props) {
  const { errors, failed } = useWords();
  const events = answer.position + 1;
  return (
    <Notice
      kind="danger"
      title={errors.position_lost?.title}
      code={["position_lost", answer.streamId].filter(Boolean).join(" · ")}
      actions={
        <Button kind="line" icon="redo" onClick={() => askAgain(conversation, turn)}>
          {failed.askAgain}
        </Button>
      }
    >
      {answer.text && failed.safe(events)}
      {errors.position_lost?.todo}
    </Notice>
  );
}

function details({ failure, streamId, model, engine, position, connections }: Answer): string {
  return JSON.stringify({ failure, streamId, model, engine, position, connections }, null, 2);
}
