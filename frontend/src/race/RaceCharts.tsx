// The three charts under the lanes. They are drawn when `drawn` changes, not with each frame.
import { memo } from "react";
import { ArrivalsChart } from "../charts/ArrivalsChart";
import { BytesChart } from "../charts/BytesChart";
import { GapsChart } from "../charts/GapsChart";
import { ARRIVAL_WORDS } from "../i18n/arrivals";
import { useDictionary } from "../i18n/language";
import { RACE_WORDS } from "../i18n/race";
import { PROTOCOLS } from "../stream/transport";
import { PROTOCOL_NAMES } from "../ui/Mark";
import type { Lane } from "./lane";
import { mannersOf } from "./manner";

interface Props {
  readonly lanes: readonly Lane[];
  readonly drawn: number;
}

export const RaceCharts = memo(function RaceCharts({ lanes }: Props) {
  const words = useDictionary(RACE_WORDS);
  const say = useDictionary(ARRIVAL_WORDS);
  const rows = PROTOCOLS.map((protocol) => {
    const lane = lanes.find((one) => one.protocol === protocol);
    const figures = lane?.figures();
    return {
      protocol,
      name: PROTOCOL_NAMES[protocol],
      times: lane?.times ?? [],
      endMs: lane?.endMs ?? null,
      spread: figures?.gaps ?? null,
      bytesPerToken: figures?.bytesPerToken ?? null,
      bytes: figures?.bytesPerToken ?? null,
    };
  });
  return (
    <div className="charts">
      <section>
        <h2 className="sub">
          {words.arrivals} <small>{words.arrivalsNote}</small>
        </h2>
        <ArrivalsChart lanes={rows} sentence={say.arrivals(mannersOf(lanes))} />
      </section>
      <div className="stack">
        <section>
          <h2 className="sub">
            {words.gaps} <small>{words.gapsNote}</small>
          </h2>
          <GapsChart lanes={rows} sentence={say.gaps(rows)} />
        </section>
        <section>
          <h2 className="sub">{words.bytes}</h2>
          <BytesChart lanes={rows} sentence={say.bytes(rows)} />
        </section>
      </div>
    </div>
  );
});
