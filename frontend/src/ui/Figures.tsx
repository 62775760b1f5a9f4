// Facts in a line, divided by middots; a fact never breaks.

import { Fragment } from "react";
import type { Protocol } from "../stream/transport";
import { ProtocolName } from "./Mark";

export function Figures({ children }: { readonly children: React.ReactNode }) {
  return <ul className="figs">{children}</ul>;
}

/** The protocols that carried an answer, in order: SSE → WebSocket. */
export function Route({ protocols }: { readonly protocols: readonly Protocol[] }) {
  return (
    <li className="route">
      {protocols.map((protocol, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same protocol may come twice, and none moves
        <Fragment key={index}>
          {index > 0 && <span aria-hidden="true">→</span>}
          <ProtocolName protocol={protocol} />
        </Fragment>
      ))}
    </li>
  );
}
