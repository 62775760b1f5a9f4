// The stream package as Chat uses it.

import type { Streams } from "./answers";

export const streams: Streams = {
  start: () => {
    throw new Error("not there yet");
  },
  follow: () => {
    throw new Error("not there yet");
  },
};
