// Says when something on the way holds a stream back. Its room is there from the start, so that nothing below moves;
// until then it says what a race is.
import { memo } from "react";
import { ARRIVAL_WORDS } from "../i18n/arrivals";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS } from "../i18n/race";
import { Notice } from "../ui/Notice";
import type { Lane } from "./lane";
import { mannersOf } from "./manner";

interface Props {
  readonly lanes: readonly Lane[];
  readonly drawn: number;
}

export const BufferingNote = memo(function BufferingNote({ lanes }: Props) {
  const words = useDictionary(RACE_WORDS);
  const found = useDictionary(ARRIVAL_WORDS).buffering(mannersOf(lanes));
  return (
    <div className="note-room">
      <div role="status">
        {found && (
          <Notice icon="alert" title={found.what}>
            {found.more}
          </Notice>
        )}
      </div>
      {!found && <p>{words.hint}</p>}
    </div>
  );
});
