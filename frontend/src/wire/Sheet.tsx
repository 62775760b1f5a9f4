// Where there is no room beside the frames, one of them rises from the lower edge. The browser's own dialog keeps the
// focus inside, gives it back, and closes with Escape.
import { useEffect, useRef } from "react";

interface Props {
  readonly label: string;
  readonly onClose: () => void;
  readonly children: React.ReactNode;
}

export function Sheet({ label, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      className="detail sheet"
      ref={dialog}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      {children}
    </dialog>
  );
}
