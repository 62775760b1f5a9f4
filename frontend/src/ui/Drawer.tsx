// A drawer at the side. Where it covers something it is modal: the rest is dimmed and out of reach; where it lies in
// another panel's place it is not. Esc closes it, and focus goes back to where it was.

import { useEffect, useRef } from "react";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";

interface Props {
  readonly side: "left" | "right";
  readonly modal: boolean;
  readonly label: string;
  readonly onClose: () => void;
  readonly children: React.ReactNode;
}

export function Drawer({ modal, ...props }: Props) {
  return modal ? <ModalDrawer {...props} /> : <PlainDrawer {...props} />;
}

type DrawerProps = Omit<Props, "modal">;

function ModalDrawer({ side, label, onClose, children }: DrawerProps) {
  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className={`drawer ${side}`}>
        <Dialog className="drawer-body" aria-label={label}>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function PlainDrawer({ side, label, onClose, children }: DrawerProps) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const focused = document.activeElement;
    ref.current?.focus({ preventScroll: true });
    return () => {
      if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    };
  }, []);
  const closeByKey = (event: React.KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) onClose();
  };
  return (
    <div
      ref={ref}
      className={`drawer ${side}`}
      role="dialog"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={closeByKey}
    >
      <div className="drawer-body">{children}</div>
    </div>
  );
}
