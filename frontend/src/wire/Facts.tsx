// The recording in a line of facts, above its strip.
import { useDictionary, useWords } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import { Figures, Route } from "../ui/Figures";
import { Icon } from "../ui/Icon";
import { PROTOCOL_NAMES } from "../ui/Mark";
import type { Summary } from "./summary";

export function Facts({ summary }: { summary: Summary }) {
  const { answer } = useWords();
  const words = useDictionary(WIRE_WORDS);
  const { firstTokenMs, tokensPerSecond } = summary.figures;
  const protocol = summary.route.at(-1);
  return (
    <Figures>
      {summary.route.length > 0 && <Route protocols={summary.route} />}
      {firstTokenMs !== null && <li>{answer.firstToken(Math.round(firstTokenMs))}</li>}
      {tokensPerSecond !== null && <li>{answer.rate(Math.round(tokensPerSecond))}</li>}
      <li>{answer.events(summary.events)}</li>
      <li>{(summary.bytes / 1000).toFixed(1)} kB</li>
      <Outcome outcome={summary.outcome} />
      {summary.buffered && protocol && (
        <li className="buffered">
          <Icon name="alert" />
          {words.buffered(PROTOCOL_NAMES[protocol])}
        </li>
      )}
    </Figures>
  );
}

function Outcome({ outcome }: { outcome: Summary["outcome"] }) {
  const { answer } = useWords();
  const words = useDictionary(WIRE_WORDS);
  const said = {
    running: words.running,
    verified: answer.verified,
    mismatch: answer.notVerified,
    failed: words.failed,
    stopped: answer.stopped,
    incomplete: answer.incomplete,
    finished: words.finished,
  }[outcome];
  return (
    <li>
      {outcome === "verified" && <Icon name="check" />}
      {(outcome === "mismatch" || outcome === "failed") && <Icon name="alert" />}
      {said}
    </li>
  );
}
