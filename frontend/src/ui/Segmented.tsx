// A choice of few, all in sight: a radio group, so arrow keys and screen readers work by themselves.

import { useId } from "react";
import { PROTOCOLS, type Protocol } from "../stream/transport";
import { ProtocolName } from "./Mark";

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: React.ReactNode;
}

interface Props<Value extends string> {
  readonly label: string;
  readonly choices: readonly Choice<Value>[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, choices, value, onChange }: Props<Value>) {
  const name = useId();
  return (
    <fieldset className="seg" aria-label={label}>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={name}
            value={choice.value}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </fieldset>
  );
}

const PROTOCOL_CHOICES = PROTOCOLS.map((protocol) => ({
  value: protocol,
  label: <ProtocolName protocol={protocol} />,
}));

export function ProtocolPicker(props: Omit<Props<Protocol>, "choices">) {
  return <Segmented {...props} choices={PROTOCOL_CHOICES} />;
}
