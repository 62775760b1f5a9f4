// Four streams that become one.

import { href } from "./routes";

export function Brand() {
  return (
    <a className="brand only-desk" href={href("chat")}>
      <svg width="20" height="16" viewBox="0 0 20 16" fill="none" strokeWidth="2" aria-hidden="true">
        <path d="M1 2h4c4 0 4 6 8 6" stroke="var(--rest)" />
        <path d="M1 6h4c3 0 4 2 8 2" stroke="var(--sse)" />
        <path d="M1 10h4c3 0 4-2 8-2" stroke="var(--websocket)" />
        <path d="M1 14h4c4 0 4-6 8-6" stroke="var(--grpcweb)" />
        <path d="M12.5 8H19" stroke="currentColor" />
      </svg>
      Polystream
    </a>
  );
}
