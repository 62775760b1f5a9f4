// One recording: its facts and strip, its frames, and the one that is selected.
import { useMemo, useState } from "react";
import type { Recording } from "../app/recordings";
import { spanFor } from "../charts/scale";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import type { Frame } from "../stream/transport";
import { Button } from "../ui/Button";
import { PROTOCOL_NAMES } from "../ui/Mark";
import { Segmented } from "../ui/Segmented";
import { Detail } from "./Detail";
import { ndjsonOf, save } from "./exported";
import { Facts } from "./Facts";
import { FrameGrid, stepFor } from "./FrameGrid";
import { Overview } from "./Overview";
import { Picker } from "./Picker";
import { FILTERS, type Filter, filtered, type Row, rowsOf } from "./rows";
import { Sheet } from "./Sheet";
import { type Summary, summaryOf } from "./summary";
import { rowAt, sightOf, useFrameList } from "./useFrameList";
import { PHONE, useMedia, WIDE } from "./useMedia";

interface Props {
  readonly recording: Recording;
  readonly recordings: readonly Recording[];
  /** Changes when the recording has grown: it grows in place. */
  readonly version: number;
  readonly onChoose: (id: string) => void;
}

export function RecordingView({ recording, recordings, version, onChoose }: Props) {
  const words = useDictionary(WIRE_WORDS);
  const wide = useMedia(WIDE);
  const phone = useMedia(PHONE);
  const [filter, setFilter] = useState<Filter>("all");
  const [selectedFrame, select] = useState<Frame | null>(null);
  const [open, setOpen] = useState(false);
  const { rows, summary } = useRows(recording, version);
  const shown = useMemo(() => filtered(rows, filter), [rows, filter]);
  const selected = indexOf(shown, selectedFrame, wide);
  const frames = useFrameList(shown, selected, phone, summary.running);
  const spanMs = useSpan(summary);
  const row = shown[selected];
  const choose = (index: number) => {
    const chosen = shown[index];
    if (chosen?.kind !== "frame") return;
    select(chosen.frame);
    frames.list.scrollToIndex(index, { align: "auto" });
  };
  const step = (by: -1 | 1) => choose(stepFor(by < 0 ? "ArrowUp" : "ArrowDown", shown, selected) ?? selected);
  const detail = row?.kind === "frame" && (
    <Detail row={row} onStep={step} onClose={wide ? undefined : () => setOpen(false)} />
  );
  const page = (pages: -1 | 1) => {
    const { list } = frames;
    list.scrollToOffset((list.scrollOffset ?? 0) + pages * (list.scrollRect?.height ?? 0) * 0.8);
  };
  return (
    <main className="wire">
      <div className="tools">
        <h1 className="grow">
          <Picker recordings={recordings} chosen={recording.id} onChoose={onChoose} />
        </h1>
        <Segmented
          label={words.show}
          choices={FILTERS.map((value) => ({ value, label: words.filters[value] }))}
          value={filter}
          onChange={setFilter}
        />
        <Button
          kind="quiet"
          icon="save"
          aria-label={words.exportLabel}
          onClick={() => save(`polystream-${recording.id}.ndjson`, ndjsonOf(recording))}
        >
          NDJSON
        </Button>
      </div>
      <div className="over">
        <Facts summary={summary} />
        <Overview
          rows={rows}
          spanMs={spanMs}
          sight={sightOf(frames, shown)}
          sentence={overviewInWords(summary, words)}
          onSeek={(ms) => frames.list.scrollToIndex(rowAt(shown, ms), { align: "center" })}
          onPage={page}
        />
      </div>
      <div className="split">
        {shown.length === 0 ? (
          <p className="none">{words.noneLeft[filter]}</p>
        ) : (
          <FrameGrid
            rows={shown}
            frames={frames}
            selected={selected}
            phone={phone}
            onSelect={choose}
            onOpen={(index) => {
              choose(index);
              setOpen(true);
            }}
          />
        )}
        {wide && (
          <aside className="detail" aria-label={words.frame}>
            {detail}
          </aside>
        )}
      </div>
      {!wide && open && detail && (
        <Sheet label={words.frame} onClose={() => setOpen(false)}>
          {detail}
        </Sheet>
      )}
    </main>
  );
}

function useRows(recording: Recording, version: number) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a recording grows in place, its version says when
  return useMemo(() => {
    const connections = recording.run?.connections ?? [];
    return {
      rows: rowsOf(recording.frames, connections, recording.startedAt),
      summary: summaryOf(recording),
    };
  }, [recording, version]);
}

/** An answer that is watched while it grows keeps the axis that doubles; one that has ended fills its strip. */
function useSpan({ running, durationMs }: Summary): number {
  const [watched, setWatched] = useState(running);
  if (running && !watched) setWatched(true);
  return watched ? spanFor(durationMs) : Math.max(100, durationMs * 1.03);
}

/** The selected frame's row; beside the list there is always one shown. */
function indexOf(rows: readonly Row[], frame: Frame | null, wide: boolean): number {
  const found = frame ? rows.findIndex((row) => row.kind === "frame" && row.frame === frame) : -1;
  if (found >= 0 || !wide) return found;
  const event = rows.findIndex((row) => row.kind === "frame" && row.seq !== null);
  return event >= 0 ? event : rows.findIndex((row) => row.kind === "frame");
}

function overviewInWords(summary: Summary, words: (typeof WIRE_WORDS)["en"]): string {
  const route = summary.route.map((protocol) => PROTOCOL_NAMES[protocol]).join(words.thenOver);
  return words.overview(summary.events, (summary.durationMs / 1000).toFixed(1), route);
}
