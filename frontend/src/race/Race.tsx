// Race: one prompt over all protocols side by side.
import { useEffect, useState, useSyncExternalStore } from "react";
import { recordings } from "../app/recordings";
import { useSlowly } from "../charts/useSlowly";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS } from "../i18n/race";
import { startRun } from "../stream/resume";
import type { StartRun } from "../stream/run";
import { PROTOCOLS } from "../stream/transport";
import { PROTOCOL_NAMES } from "../ui/Mark";
import { Ask, type Question } from "./Ask";
import { FiguresTable } from "./FiguresTable";
import { LaneCard } from "./LaneCard";
import type { Lane } from "./lane";
import { RaceCharts } from "./RaceCharts";
import { RaceNote } from "./RaceNote";
import { startRace, stopRace } from "./race";
import "../styles/race.css";

/** The last race, which goes on while another view is looked at. */
let last: readonly Lane[] = [];

export function Race({ start = startRun }: { start?: StartRun }) {
  const words = useDictionary(RACE_WORDS);
  const [lanes, setLanes] = useState(last);
  // Told once a frame for all lanes; what is heavier to draw follows more slowly.
  const version = useSyncExternalStore(recordings.subscribe, recordings.version);
  const drawn = useSlowly(version);
  const running = lanes.some((lane) => lane.running);
  const run = (question: Question) => {
    const title = (prompt: string, protocol: (typeof PROTOCOLS)[number]) =>
      words.recording(prompt, PROTOCOL_NAMES[protocol]);
    last = startRace({ ...question, title }, start, recordings);
    setLanes(last);
  };
  return (
    <main className="race">
      <div className="in-page">
        <h1 className="sr">{words.title}</h1>
        <Ask running={running} again={lanes.length > 0} onRun={run} onStop={() => stopRace(lanes)} />
        <RaceNote lanes={lanes} drawn={drawn} />
        <section className="lanes" aria-label={words.answers}>
          {PROTOCOLS.map((protocol) => (
            <LaneCard
              key={protocol}
              protocol={protocol}
              lane={lanes.find((lane) => lane.protocol === protocol) ?? null}
              drawn={drawn}
            />
          ))}
        </section>
        <RaceCharts lanes={lanes} drawn={drawn} />
        <FiguresTable lanes={lanes} drawn={drawn} />
        <Announcer lanes={lanes} running={running} />
      </div>
    </main>
  );
}

/** One sentence for screen readers when a race has ended. */
function Announcer({ lanes, running }: { lanes: readonly Lane[]; running: boolean }) {
  const words = useDictionary(RACE_WORDS);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (running) setSeen(true);
  }, [running]);
  const verified = lanes.filter(({ state }) => state === "verified").length;
  return (
    <p className="sr" role="status">
      {seen && !running ? words.done(verified) : ""}
    </p>
  );
}
