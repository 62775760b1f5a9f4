// The connections that carried an answer, one after the other.

import type { Words } from "../i18n/language";
import { useWords } from "../i18n/language";
import { Mark, PROTOCOL_NAMES } from "../ui/Mark";
import type { Answer, PastConnection } from "./conversation";

export function Connections({ answer }: { readonly answer: Answer }) {
  const words = useWords();
  const { connections } = answer;
  return (
    <section>
      <h2 className="sub">{words.panel.connections}</h2>
      <ol className="conns">
        {connections.map((connection, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: connections only come at the end
          <li key={index} data-p={connection.protocol}>
            <Mark protocol={connection.protocol} />
            <b>{PROTOCOL_NAMES[connection.protocol]}</b> <span>{range(connection, words)}</span>
            <p>
              {history(connection, { isResumed: index > 0, isLast: index === connections.length - 1 }, words)}
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function range({ firstSeq, lastSeq }: PastConnection, { panel }: Words): string {
  return firstSeq === null || lastSeq === null ? panel.noEvent : panel.range(firstSeq, lastSeq);
}

interface Place {
  readonly isResumed: boolean;
  readonly isLast: boolean;
}

/** How it came, while it lasts; how it went, afterwards. */
function history(
  { ms, firstMs, end }: PastConnection,
  { isResumed, isLast }: Place,
  { panel }: Words,
): string {
  // Nobody could note its end: it went with its page.
  if (end === null && !isLast) return panel.lasted(ms, panel.ends.left);
  if (isResumed && firstMs !== null && (end === null || end === "last")) return panel.resumed(firstMs);
  return end == null ? panel.firstConnection : panel.lasted(ms, panel.ends[end]);
}
