// One frame in full: when it came, how it was framed, what it says, and its bytes.
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS, type WireWords } from "../i18n/wire";
import type { Frame } from "../stream/transport";
import { IconButton } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { Mark, PROTOCOL_NAMES } from "../ui/Mark";
import { decodedOf, elsewhere, jsonTokens } from "./decoded";
import { framing, websocketHeader } from "./framing";
import { hexDump, joined, SHOWN_BYTES } from "./hex";
import type { FrameRow } from "./rows";

interface Props {
  readonly row: FrameRow;
  readonly onStep: (step: -1 | 1) => void;
  /** A sheet can be closed, a panel not. */
  readonly onClose?: (() => void) | undefined;
}

export function Detail({ row, onStep, onClose }: Props) {
  const words = useDictionary(WIRE_WORDS);
  const { frame, seq, type } = row;
  const decoded = decodedOf(frame);
  return (
    <>
      <header>
        <Mark protocol={frame.protocol} />
        <h2 className="grow">{seq === null ? `${words.frame}: ${type}` : words.event(seq)}</h2>
        <IconButton icon="up" label={words.previous} onClick={() => onStep(-1)} />
        <IconButton icon="down" label={words.next} onClick={() => onStep(1)} />
        {onClose && <IconButton icon="x" label={words.close} onClick={onClose} />}
      </header>
      <Facts row={row} words={words} />
      {decoded !== undefined && <Decoded value={decoded} words={words} />}
      {frame.bytes.length > 0 && <Bytes frame={frame} words={words} />}
    </>
  );
}

function Facts({ row, words }: { row: FrameRow; words: WireWords }) {
  const { frame, atMs, gapMs } = row;
  const other = elsewhere(frame);
  return (
    <dl className="kv">
      <dt>{frame.direction === "out" ? words.wasSent : words.arrived}</dt>
      <dd>{(atMs / 1000).toFixed(3)} s</dd>
      {gapMs !== null && (
        <>
          <dt>{words.gapBefore}</dt>
          <dd>{Math.round(gapMs)} ms</dd>
        </>
      )}
      <dt>{words.frame}</dt>
      <dd>{frame.bytes.length === 0 ? frame.head : framingInWords(frame, words)}</dd>
      {other && (
        <>
          <dt>{words.elsewhere(PROTOCOL_NAMES[other.over])}</dt>
          <dd>{words.bytesCount(other.bytes)}</dd>
        </>
      )}
    </dl>
  );
}

function framingInWords(frame: Frame, words: WireWords): string {
  const { header, payload } = framing(frame);
  if (frame.head !== undefined) return words.framing.request(payload);
  const say = words.framing;
  if (frame.protocol === "websocket") return say.websocket(header, payload);
  if (frame.protocol === "grpcweb") return say.grpcweb(header, payload);
  return say[frame.protocol](payload);
}

function Decoded({ value, words }: { value: unknown; words: WireWords }) {
  let at = 0;
  return (
    <section>
      <h3>
        {words.decoded}
        <CopyButton text={() => JSON.stringify(value, null, 2)} />
      </h3>
      <pre>
        {jsonTokens(value).map(({ text, kind }) => {
          at += text.length;
          return kind === "rest" ? (
            text
          ) : (
            <span key={at} className={kind}>
              {text}
            </span>
          );
        })}
      </pre>
    </section>
  );
}

function Bytes({ frame, words }: { frame: Frame; words: WireWords }) {
  const shown = frame.protocol === "websocket" && frame.direction === "in";
  const bytes = shown ? joined(websocketHeader(frame), frame.bytes) : frame.bytes;
  const more = bytes.length - SHOWN_BYTES;
  return (
    <section>
      <h3>{words.bytes}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre className="hex" tabIndex={0}>
        {hexDump(bytes)}
        {more > 0 && `\n${words.more(more)}`}
      </pre>
    </section>
  );
}
