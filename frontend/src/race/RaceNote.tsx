// What must be known to read a race: that something on the way holds a stream back, or that the engine made answers
// wait for each other. Its room is there from the start, so that nothing below moves; until then it says what a race is.
import { memo } from "react";
import { ARRIVAL_WORDS } from "../i18n/arrivals";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS } from "../i18n/race";
import { Notice } from "../ui/Notice";
import type { Lane } from "./lane";
import { mannersOf, waitedForEngine } from "./manner";

interface Props {
  readonly lanes: readonly Lane[];
  readonly drawn: number;
}

export const RaceNote = memo(function RaceNote({ lanes }: Props) {
  const words = useDictionary(RACE_WORDS);
  const say = useDictionary(ARRIVAL_WORDS);
  const buffering = say.buffering(mannersOf(lanes));
  const waited = waitedForEngine(lanes);
  const found = buffering ?? (waited.length > 0 ? say.turns(waited) : null);
  return (
    <div className="note-room">
      <div role="status">
        {found && (
          <Notice icon={buffering ? "alert" : "clock"} title={found.what}>
            {found.more}
          </Notice>
        )}
      </div>
      {!found && <p>{words.hint}</p>}
    </div>
  );
});
