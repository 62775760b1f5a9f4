// All figures of a race in a table: what the charts say, for those who would rather read it.
import { memo } from "react";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS, type RaceWords } from "../i18n/race";
import { PROTOCOL_NAMES, ProtocolName } from "../ui/Mark";
import { decimal, whole } from "./figures";
import type { Lane } from "./lane";

interface Props {
  readonly lanes: readonly Lane[];
  readonly drawn: number;
}

export const FiguresTable = memo(function FiguresTable({ lanes }: Props) {
  const words = useDictionary(RACE_WORDS);
  return (
    <details className="figures-table">
      <summary>{words.table}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="table-box" tabIndex={0} aria-label={words.table}>
        <table>
          <thead>
            <tr>
              {words.tableHeads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lanes.map((lane) => (
              <Row key={lane.protocol} lane={lane} words={words} />
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
});

function Row({ lane, words }: { lane: Lane; words: RaceWords }) {
  const { firstTokenMs, tokensPerSecond, gaps, bytesPerToken } = lane.figures();
  return (
    <tr>
      <th scope="row" aria-label={PROTOCOL_NAMES[lane.protocol]}>
        <ProtocolName protocol={lane.protocol} />
      </th>
      <td>{withUnit(whole(firstTokenMs), "ms")}</td>
      <td>{withUnit(decimal(tokensPerSecond), words.perSecond)}</td>
      <td>{withUnit(decimal(gaps?.low), "ms")}</td>
      <td>{withUnit(decimal(gaps?.median), "ms")}</td>
      <td>{withUnit(decimal(gaps?.high), "ms")}</td>
      <td>{withUnit(whole(gaps?.longest), "ms")}</td>
      <td>{decimal(bytesPerToken) ?? "–"}</td>
      <td>{lane.recording.events.length}</td>
    </tr>
  );
}

function withUnit(value: string | null, unit: string): string {
  return value === null ? "–" : `${value} ${unit}`;
}
