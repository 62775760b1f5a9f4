// How many bytes a frame took on the wire, and how many of them are not the message's own.
import type { Frame } from "../stream/transport";

/** A gRPC-Web message: a flag and four bytes of length (the gRPC-Web protocol). */
const GRPC_PREFIX = 5;

/**
 * A browser shows a WebSocket's payload only. Its header follows from the length (RFC 6455, section 5.2): two bytes, or
 * four, or ten; what we send has four bytes of a mask besides, which nobody shows.
 */
export function websocketHeader({ bytes, direction }: Frame): Uint8Array {
  const length = bytes.length;
  const masked = direction === "out" ? 0x80 : 0;
  if (length < 126) return Uint8Array.of(0x81, masked | length);
  if (length < 65_536) return Uint8Array.of(0x81, masked | 126, length >> 8, length & 255);
  const long = new Uint8Array(10);
  long.set([0x81, masked | 127]);
  new DataView(long.buffer).setUint32(6, length);
  return long;
}

/** The bytes around the payload, [before, payload]; a line of NDJSON and an event of SSE are all payload. */
export function framing(frame: Frame): { readonly header: number; readonly payload: number } {
  const length = frame.bytes.length;
  switch (frame.protocol) {
    case "websocket":
      return { header: websocketHeader(frame).length + (frame.direction === "out" ? 4 : 0), payload: length };
    case "grpcweb": {
      const header = Math.min(GRPC_PREFIX, length);
      return { header, payload: length - header };
    }
    default:
      return { header: 0, payload: length };
  }
}

export function bytesOnWire(frame: Frame): number {
  const { header, payload } = framing(frame);
  return header + payload;
}
