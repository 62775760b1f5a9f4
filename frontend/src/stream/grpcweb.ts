// gRPC-Web: connect-web with the generated types. Its fetch is wrapped for those who want to see the frames.

import { fromBinary } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type CallOptions, type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { EventSchema, Streams, type Event as Wire } from "../gen/polystream/v1/streams_pb.js";
import { Frames } from "./cutter.js";
import { endsCall, type Message } from "./event.js";
import { fromProto, toRequest } from "./proto.js";
import { Broken, type Frame, type Options, Refused, type Transport } from "./transport.js";

const FRAME_HEAD = 5;
const TRAILERS = 0x80;
/**
 * Statuses that say, without one of our codes, that asking again is useless. All others are a broken connection:
 * connect itself calls an answer that was cut in the middle of a frame InvalidArgument.
 */
const FINAL: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unimplemented]: "invalid_request",
  [Code.Unauthenticated]: "unauthenticated",
  [Code.PermissionDenied]: "forbidden",
  [Code.NotFound]: "not_found",
};

type Call = (client: Client<typeof Streams>, options: CallOptions) => AsyncIterable<Wire>;

export const grpcweb: Transport = {
  protocol: "grpcweb",
  start: (request, options) =>
    messages((client, call) => client.start(toRequest(request), call), options, false),
  follow: (id, after, options) => {
    const position = after === null ? {} : { after: BigInt(after) };
    return messages((client, call) => client.follow({ id, ...position }, call), options, true);
  },
};

async function* messages(call: Call, options: Options, mayBeEmpty: boolean): AsyncGenerator<Message> {
  options.signal.throwIfAborted();
  // A signal of the call's own: connect reads on unless it is aborted, also when the iteration is left.
  const own = new AbortController();
  const abort = () => own.abort(options.signal.reason);
  options.signal.addEventListener("abort", abort);
  const headers = options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey };
  const client = createClient(
    Streams,
    createGrpcWebTransport({
      baseUrl: options.base,
      fetch: options.onFrame ? shown(options.onFrame) : plain,
    }),
  );
  let some = false;
  try {
    for await (const wire of call(client, { signal: own.signal, headers })) {
      const message = fromProto(wire);
      if (message === null) continue;
      some = true;
      yield message;
      // The status behind it says the same once more.
      if (endsCall(message)) return;
    }
  } catch (error) {
    options.signal.throwIfAborted();
    throw error instanceof ConnectError ? translated(error) : error;
  } finally {
    options.signal.removeEventListener("abort", abort);
    own.abort();
  }
  if (some || !mayBeEmpty) throw new Broken("the stream ended before its last event");
}

function translated(error: ConnectError): Refused | Broken {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  if (info !== undefined) {
    const wait = retry && milliseconds(retry.retryDelay);
    return new Refused(info.reason, error.rawMessage, retry !== undefined, wait, info.metadata.param);
  }
  const code = FINAL[error.code];
  return code === undefined ? new Broken(error.message) : new Refused(code, error.rawMessage, false);
}

function milliseconds(delay: Duration | undefined): number {
  return delay === undefined ? 0 : Number(delay.seconds) * 1000 + Math.ceil(delay.nanos / 1e6);
}

// Looked up for each call, as others do with fetch; connect would keep the one it found.
const plain: typeof fetch = (input, init) => fetch(input, init);

function shown(onFrame: (frame: Frame) => void): typeof fetch {
  const tell = (direction: "in" | "out", bytes: Uint8Array, more: { head?: string; message?: Message }) =>
    onFrame({ at: performance.now(), protocol: "grpcweb", direction, bytes, ...more });
  return async (input, init) => {
    const body = init?.body instanceof Uint8Array ? init.body : new Uint8Array();
    tell("out", body, { head: `POST ${path(input)}` });
    const response = await fetch(input, init);
    const status = response.headers.get("grpc-status");
    const head = `${response.status} ${response.headers.get("content-type") ?? ""}`.trimEnd();
    tell("in", new Uint8Array(), { head: status === null ? head : `${head} grpc-status ${status}` });
    if (response.body === null) return response;
    const frames = new Frames();
    const seen = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        for (const frame of frames.push(chunk)) tell("in", frame, spelled(frame));
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(seen), response);
  };
}

function spelled(frame: Uint8Array): { message?: Message } {
  if (((frame[0] ?? 0) & TRAILERS) !== 0) return {};
  const message = fromProto(fromBinary(EventSchema, frame.subarray(FRAME_HEAD)));
  return message === null ? {} : { message };
}

function path(input: RequestInfo | URL): string {
  const url = input instanceof Request ? input.url : String(input);
  return url.slice(url.indexOf("/polystream.v1.Streams/"));
}
