// The line below an answer: which protocols carried it, its figures, what one can do with it. Its room is there from
// the start, so that nothing moves when it fills.

import { href } from "../app/routes";
import { useWords } from "../i18n/language";
import { IconButton } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { Figures, Route } from "../ui/Figures";
import { Icon } from "../ui/Icon";
import { askAgain } from "./actions";
import { type Answer, type Conversation, isOpen, lastProtocol, type Turn } from "./conversation";
import type { Live } from "./following";
import { firstMs, rate } from "./reduce";
import { routeOf } from "./routeOf";
import { answers } from "./service";
import { useSeconds } from "./useSeconds";

interface Props {
  readonly conversation: Conversation;
  readonly turn: Turn;
  readonly live: Live;
}

export function Foot({ conversation, turn, live }: Props) {
  const { answer: words } = useWords();
  const { answer } = live;
  return (
    <div className="foot" data-p={lastProtocol(answer)}>
      {(answer.position >= 0 || !isOpen(answer)) && <Line live={live} />}
      {!isOpen(answer) && (
        <span className="acts">
          {answer.text && <CopyButton iconOnly text={() => answer.text} />}
          <IconButton icon="redo" label={words.regenerate} onClick={() => askAgain(conversation, turn)} />
          <a className="b icon" href={href("wire", answer.id)} aria-label={words.frames} title={words.frames}>
            <Icon name="wire" />
          </a>
        </span>
      )}
    </div>
  );
}

function Line({ live }: { readonly live: Live }) {
  const { answer: words } = useWords();
  const { answer } = live;
  const first = firstMs(answer);
  const speed = rate(answer);
  return (
    <Figures>
      <Route protocols={routeOf(answer)} />
      {first !== null && <li>{words.firstToken(first)}</li>}
      {speed !== null && <li>{words.rate(speed)}</li>}
      {answer.firstAt !== null && <li>{words.events(answer.position + 1)}</li>}
      {isOpen(answer) ? <Reconnecting live={live} /> : <Ending answer={answer} />}
    </Figures>
  );
}

function Ending({ answer }: { readonly answer: Answer }) {
  const { answer: words } = useWords();
  const cut = words.cut[answer.reason as keyof typeof words.cut] as string | undefined;
  return (
    <>
      {cut && <li>{cut}</li>}
      {answer.state === "stopped" && <li>{words.stopped}</li>}
      {(answer.state === "failed" || answer.state === "lost") && <li>{words.incomplete}</li>}
      {answer.verified === "verified" && answer.state !== "failed" && (
        <li>
          <Icon name="check" />
          {words.verified}
        </li>
      )}
      {answer.verified === "mismatch" && (
        <li title={words.mismatch}>
          <Icon name="alert" />
          {words.notVerified}
        </li>
      )}
    </>
  );
}

function Reconnecting({ live }: { readonly live: Live }) {
  const { answer: words } = useWords();
  const left = useSeconds(live.retryAt === null ? null : performance.timeOrigin + live.retryAt);
  if (live.phase !== "reconnecting") return null;
  return (
    <li>
      {left > 1 ? words.reconnectingIn(left) : words.reconnecting}
      {left > 1 && (
        <button type="button" className="link" onClick={() => answers.retryNow(live.answer.id)}>
          {words.retryNow}
        </button>
      )}
    </li>
  );
}
