// One lane of a race: who runs, how it stands, its three figures, and its text.
import { memo, useState } from "react";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS, type RaceWords } from "../i18n/race";
import type { Protocol } from "../stream/transport";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Mark, PROTOCOL_NAMES } from "../ui/Mark";
import { decimal, whole } from "./figures";
import { LaneText } from "./LaneText";
import type { Lane, LaneState } from "./lane";

/** At the head of a lane REST says how it streams. */
const LONG_NAMES: Readonly<Record<Protocol, string>> = { ...PROTOCOL_NAMES, rest: "REST stream" };

interface Props {
  readonly protocol: Protocol;
  /** null: nothing was run yet. */
  readonly lane: Lane | null;
  /** Changes when the figures are to be drawn again, which is more seldom than the text is. */
  readonly drawn: number;
}

export function LaneCard({ protocol, lane, drawn }: Props) {
  const words = useDictionary(RACE_WORDS);
  const [open, setOpen] = useState(false);
  const name = LONG_NAMES[protocol];
  return (
    <article className={open ? "lane open" : "lane"} data-p={protocol} aria-label={name}>
      <header>
        <span className="proto">
          <Mark protocol={protocol} />
          {name}
        </span>
        <small>{lane && <State state={lane.state} words={words} />}</small>
        <IconButton
          className="only-phone"
          icon="chev"
          label={`${words.showText}: ${name}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        />
      </header>
      <LaneFigures lane={lane} drawn={drawn} words={words} />
      <LaneText text={lane?.text ?? ""} label={name} caret={lane?.running ?? false}>
        {lane && <Trouble lane={lane} words={words} />}
      </LaneText>
    </article>
  );
}

function State({ state, words }: { state: LaneState; words: RaceWords }) {
  const bad = state === "failed" || state === "unverified" || state === "lost";
  return (
    <>
      {state === "verified" && <Icon name="check" />}
      {bad && <Icon name="alert" />}
      {words.states[state]}
    </>
  );
}

const LaneFigures = memo(function LaneFigures(props: { lane: Lane | null; drawn: number; words: RaceWords }) {
  const { lane, words } = props;
  const figures = lane?.figures();
  return (
    <dl>
      <Figure name={words.firstToken} value={whole(figures?.firstTokenMs)} unit="ms" />
      <Figure name={words.rate} value={decimal(figures?.tokensPerSecond)} unit={words.perSecond} />
      <Figure name={words.longest} value={whole(figures?.gaps?.longest)} unit="ms" />
    </dl>
  );
});

function Figure({ name, value, unit }: { name: string; value: string | null; unit: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value === null ? "–" : `${value} `}
        {value !== null && <small>{unit}</small>}
      </dd>
    </div>
  );
}

/** Why a lane did not come to its end; the others run on. */
function Trouble({ lane, words }: { lane: Lane; words: RaceWords }) {
  const { state, failure } = lane;
  const said = state === "unverified" ? words.mismatch : state === "lost" ? words.lost : failure?.message;
  if (state !== "failed" && state !== "unverified" && state !== "lost") return null;
  return (
    <p className="why" role="alert">
      <span>{said}</span>
      {failure?.code && <code>{failure.code}</code>}
    </p>
  );
}
