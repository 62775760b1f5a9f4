"""The wire contracts as .proto files, and the stubs generated from them (`make proto`)."""
