"""The cluster's processes on one machine: its proxies from the same files, at addresses of this machine."""
