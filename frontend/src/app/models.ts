// The models one can choose: those of /v1/models, which are ready, the default first; then those of /readyz that are
// not ready yet.

import { useEffect, useState } from "react";
import { type ModelState, type Readiness, useReadiness } from "./readiness";

export interface ModelChoice extends ModelState {
  /** Who serves it, where the server says more than its own name. */
  readonly engine: string;
}

/** Asked for again whenever readiness changes. */
export function useModels(): readonly ModelChoice[] {
  const state = useReadiness();
  const [ready, setReady] = useState<readonly ModelChoice[]>([]);
  useEffect(() => {
    if (state.status === "checking") return;
    const left = new AbortController();
    void fetchModels(left.signal).then((found) => !left.signal.aborted && setReady(found));
    return () => left.abort();
  }, [state]);
  return merged(ready, state);
}

export function merged(ready: readonly ModelChoice[], state: Readiness): readonly ModelChoice[] {
  const known = new Set(ready.map(({ id }) => id));
  const others = state.models.filter(({ id }) => !known.has(id)).map((model) => ({ ...model, engine: "" }));
  return [...ready, ...others];
}

async function fetchModels(signal: AbortSignal): Promise<readonly ModelChoice[]> {
  try {
    const answer = await fetch("/v1/models", { signal });
    const { data } = (await answer.json()) as { data: { id: string; owned_by?: string }[] };
    return data.map(({ id, owned_by }) => ({
      id,
      state: "ready",
      engine: owned_by === "polystream" ? "" : (owned_by ?? ""),
    }));
  } catch {
    return [];
  }
}
