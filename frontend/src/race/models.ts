// The models that the engine lists, to choose from.
import { useEffect, useState } from "react";

/** Empty until they are known, and when nobody answers: then the server chooses. */
export function useModels(): readonly string[] {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const leave = new AbortController();
    list(leave.signal).then(setModels, () => {});
    return () => leave.abort();
  }, []);
  return models;
}

async function list(signal: AbortSignal): Promise<string[]> {
  const answer = await fetch("/v1/models", { signal });
  const { data } = Object(await answer.json()) as { data?: unknown };
  if (!Array.isArray(data)) return [];
  return data.flatMap((model) => (typeof model?.id === "string" ? [model.id] : []));
}
