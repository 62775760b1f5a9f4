"""`polystream.v1.Streams`: the native dialect over gRPC and gRPC-Web."""
