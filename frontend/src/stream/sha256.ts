// SHA-256 (FIPS 180-4) for pages over plain HTTP, where browsers have no crypto.subtle.

const K = primes(64).map((prime) => fraction(Math.cbrt(prime)));
const H = primes(8).map((prime) => fraction(Math.sqrt(prime)));
const BLOCK = 64;

export function sha256(bytes: Uint8Array): Uint8Array {
  const view = padded(bytes);
  const hash = Uint32Array.from(H);
  const w = new Uint32Array(64);
  for (let at = 0; at < view.byteLength; at += BLOCK) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [word(w, i - 15), word(w, i - 2)];
      const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      w[i] = word(w, i - 16) + s0 + word(w, i - 7) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    mix(hash, w);
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (const [i, value] of hash.entries()) digest.setUint32(i * 4, value);
  return new Uint8Array(digest.buffer);
}

function mix(hash: Uint32Array, w: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i++) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[i] as number) + word(w, i)) | 0;
    const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(t1 + t2) | 0, a, b, c, (d + t1) | 0, e, f, g];
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) hash[i] = word(hash, i) + value;
}

/** The message, a one bit, zeros, and its length in bits. */
function padded(bytes: Uint8Array): DataView {
  const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setBigUint64(view.byteLength - 8, BigInt(bytes.length) * 8n);
  return view;
}

function word(words: Uint32Array, i: number): number {
  return words[i] as number;
}

function turn(x: number, n: number): number {
  return (x >>> n) | (x << (32 - n));
}

/** The first 32 bits of what is behind the point. */
function fraction(x: number): number {
  return ((x % 1) * 2 ** 32) >>> 0;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}
