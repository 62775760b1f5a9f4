// Every protocol's transport. gRPC-Web is loaded when it is called for: its library is most of the package's weight.

import type { Message } from "./event.js";
import { rest } from "./rest.js";
import { sse } from "./sse.js";
import { Broken, type Options, type Protocol, type Transport } from "./transport.js";
import { websocket } from "./websocket.js";

const grpcweb: Transport = {
  protocol: "grpcweb",
  start: (request, options) => loaded(options, (transport) => transport.start(request, options)),
  follow: (id, after, options) => loaded(options, (transport) => transport.follow(id, after, options)),
};

export const TRANSPORTS: Readonly<Record<Protocol, Transport>> = { rest, sse, websocket, grpcweb };

async function* loaded(
  options: Options,
  call: (transport: Transport) => AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const module = await import("./grpcweb.js").catch((error: unknown) => {
    throw new Broken(`the code for gRPC-Web cannot be loaded: ${String(error)}`);
  });
  options.signal.throwIfAborted();
  yield* call(module.grpcweb);
}
