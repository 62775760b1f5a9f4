// Before the first word: the queue, the reading of the prompt, or just the wait.

import { useEffect, useState } from "react";
import type { Words } from "../i18n/language";
import { useWords } from "../i18n/language";
import { Icon } from "../ui/Icon";
import type { Wait } from "./conversation";
import type { Live } from "./following";
import { answers } from "./service";
import { useSeconds } from "./useSeconds";

/** Reading that takes less is not worth a meter. */
const METER_MS = 2000;

export function Waiting({ live }: { readonly live: Live }) {
  const words = useWords();
  const { answer, phase } = live;
  const { wait } = answer;
  const left = useSeconds(live.retryAt === null ? null : performance.timeOrigin + live.retryAt);
  const isSlow = useSlow(wait?.kind === "reading");
  return (
    <div className="part" data-p={answer.protocol}>
      <p className="wait">
        {wait?.kind === "reading" && isSlow ? (
          <Meter done={wait.done} total={wait.total} />
        ) : (
          <Icon name="clock" />
        )}
        <span>{phase === "reconnecting" ? retrying(live.trouble, left, words) : sentence(wait, words)}</span>
        {phase === "reconnecting" && left > 1 && (
          <button type="button" className="link" onClick={() => answers.retryNow(answer.id)}>
            {words.answer.retryNow}
          </button>
        )}
      </p>
    </div>
  );
}

function Meter({ done, total }: { readonly done: number; readonly total: number }) {
  const share = total > 0 ? Math.min(100, (done / total) * 100) : 0;
  return (
    <span className="meter">
      <i style={{ width: `${share}%` }} />
    </span>
  );
}

/** The server refused, and is asked again by itself; or nobody is there to refuse. */
function retrying(trouble: string | null, left: number, words: Words): string {
  if (trouble === "overloaded" || trouble === "rate_limited") return words.busy(left);
  const said = trouble === "disconnected" ? words.errors.unreachable : words.errors[trouble ?? ""];
  const title = said?.title ?? "";
  return `${title} ${left > 1 ? words.answer.reconnectingIn(left) : words.answer.reconnecting}`.trim();
}

function sentence(wait: Wait | null, { answer }: Words): string {
  if (wait?.kind === "queued") return answer.queued(wait.place);
  if (wait?.kind === "reading") return answer.reading(wait.done, wait.total);
  return answer.waiting;
}

function useSlow(isCounting: boolean): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isCounting) return;
    const timer = setTimeout(() => setSlow(true), METER_MS);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [isCounting]);
  return isSlow;
}
