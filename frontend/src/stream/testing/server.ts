// A server of all four protocols on loopback whose answers break where a test wants.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { type WebSocket, WebSocketServer } from "ws";
import { FollowRequestSchema } from "../../gen/polystream/v1/streams_pb.js";
import { type Event, isLast, type Message } from "../event.js";
import type { Protocol } from "../transport.js";
import { ENCODERS, joined, json, logOf, trailers } from "./log.js";

export interface Call {
  readonly protocol: Protocol;
  /** null: a start. */
  readonly id: string | null;
  readonly after: number | null;
  readonly key: string | undefined;
}

/** What becomes of an answer. */
export interface Plan {
  /** The connection breaks behind so many bytes of the body; -1: before its headers. */
  readonly cutAt?: number;
  /** Said in place of the log from `after` on. */
  readonly say?: readonly Message[];
  /** Behind what is said the answer neither goes on nor ends. */
  readonly hangs?: boolean;
  /** An error instead, over HTTP. */
  readonly refuse?: { readonly status: number; readonly code: string; readonly retryable: boolean };
}

export class ScriptedServer {
  readonly calls: Call[] = [];
  readonly logs = new Map<string, readonly Event[]>();
  readonly cancelled: string[] = [];
  /** What becomes of each call; by default nothing happens to it. */
  plan: (call: Call) => Plan = () => ({});
  /** The pieces of the next generation's text. */
  pieces: readonly string[] | undefined;
  base = "";
  private readonly keys = new Map<string, string>();
  private readonly open = new Set<Socket>();
  private readonly sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "polystream.v1" });
  private readonly http = createServer((request, response) => void this.answer(request, response));

  async listen(): Promise<this> {
    this.http.on("connection", (socket: Socket) => {
      this.open.add(socket);
      socket.on("close", () => this.open.delete(socket));
    });
    this.http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => this.serve(webSocket));
    });
    this.http.listen(0, "127.0.0.1");
    await once(this.http, "listening");
    this.base = `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    this.http.close();
    await once(this.http, "close");
  }

  get connections(): number {
    return this.open.size;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.base);
    const body = await read(request);
    const key = request.headers["idempotency-key"] as string | undefined;
    const id = pathname.split("/")[3] ?? null;
    if (request.method === "DELETE") {
      this.cancelled.push(id ?? "");
      response.writeHead(202).end("{}");
    } else if (pathname.startsWith("/polystream")) {
      const follow = pathname.endsWith("Follow") ? fromBinary(FollowRequestSchema, body.subarray(5)) : null;
      const after = follow?.after === undefined ? null : Number(follow.after);
      this.stream(
        { protocol: "grpcweb", id: follow?.id ?? null, after, key },
        response,
        "application/grpc-web+proto",
      );
    } else if (request.headers.prefer === "respond-async") {
      const started = this.started(key);
      response.writeHead(202, { location: `/v1/streams/${started}` }).end(json({ id: started }));
    } else {
      const text = searchParams.get("after");
      const sse = request.headers.accept === "text/event-stream";
      const call = { id, after: text === null ? null : Number(text), key };
      if (sse) this.stream({ protocol: "sse", ...call }, response, "text/event-stream; charset=utf-8");
      else this.stream({ protocol: "rest", ...call }, response, "application/x-ndjson");
    }
  }

  private stream(call: Call, response: ServerResponse, type: string): void {
    const { messages, plan } = this.take(call);
    const { protocol } = call;
    if (plan.cutAt === -1) return void response.socket?.destroy();
    if (plan.refuse !== undefined) {
      const { status, code, retryable } = plan.refuse;
      return void response.writeHead(status).end(json({ error: { code, message: code, retryable } }));
    }
    if (messages === null) {
      return void response
        .writeHead(404)
        .end(json({ error: { code: "not_found", message: "", retryable: false } }));
    }
    if (messages.length === 0 && protocol === "sse") return void response.writeHead(204).end();
    const parts = messages.map((message) => ENCODERS[protocol](message));
    if (protocol === "grpcweb" && !plan.hangs) parts.push(trailers(0));
    const bytes = joined(parts);
    response.writeHead(200, { "content-type": type });
    response.flushHeaders();
    if (plan.cutAt !== undefined && plan.cutAt < bytes.length) {
      response.write(bytes.subarray(0, plan.cutAt), () => response.socket?.destroy());
      if (plan.cutAt === 0) response.socket?.destroy();
    } else if (plan.hangs) response.write(bytes);
    else response.end(bytes);
  }

  private serve(socket: WebSocket): void {
    socket.on("error", () => {});
    socket.once("message", (data) => {
      const said = JSON.parse(String(data)) as { id?: string; after?: number; idempotency_key?: string };
      const { id = null, after = null, idempotency_key: key } = said;
      const { messages, plan } = this.take({ protocol: "websocket", id, after, key });
      if (plan.cutAt === -1) return socket.terminate();
      if (plan.refuse !== undefined) {
        const { code, retryable } = plan.refuse;
        return socket.send(json({ ref: "a", type: "error", error: { code, message: code, retryable } }));
      }
      if (messages === null) {
        return socket.send(
          json({ ref: "a", type: "error", error: { code: "not_found", message: "", retryable: false } }),
        );
      }
      if (messages.length === 0 && !plan.hangs)
        return socket.send(json({ ref: "a", type: "status", state: "finished" }));
      let sent = 0;
      for (const message of messages.map((message) => ENCODERS.websocket(message))) {
        sent += message.length;
        if (sent > (plan.cutAt ?? Number.POSITIVE_INFINITY)) return socket.terminate();
        socket.send(message, { binary: false });
      }
    });
  }

  /** What a call is told, all at once; null: there is no such generation. */
  private take(call: Call): { messages: readonly Message[] | null; plan: Plan } {
    this.calls.push(call);
    const plan = this.plan(call);
    if (plan.refuse !== undefined) return { messages: [], plan };
    const log = this.logs.get(call.id ?? this.started(call.key));
    const messages = plan.say ?? log?.slice((call.after ?? -1) + 1) ?? null;
    return { messages, plan };
  }

  private started(key: string | undefined): string {
    const known = key === undefined ? undefined : this.keys.get(key);
    if (known !== undefined) return known;
    const id = `gen_${this.logs.size}`;
    this.logs.set(id, logOf(this.pieces, id));
    if (key !== undefined) this.keys.set(key, id);
    return id;
  }
}

export function isWhole(events: readonly Event[]): boolean {
  return events.every((event, at) => event.seq === at) && events.filter(isLast).length === 1;
}

async function read(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
