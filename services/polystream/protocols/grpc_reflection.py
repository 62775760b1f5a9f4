"""`grpc.reflection`, https://github.com/grpc/grpc/blob/master/doc/server-reflection.md.

Under both of its names: the messages of v1 are those of v1alpha on the wire.
"""

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha.reflection_pb2 import (
    ErrorResponse,
    ExtensionNumberResponse,
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)

from polystream.dialects import proto
from polystream.protocols.grpc import answering
from polystream.protocols.grpc_call import Call, Method

SERVICES = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
_INVALID_ARGUMENT, _NOT_FOUND = 3, 5


class Reflection:
    """Tells of services, and of all files that this process has loaded."""

    def __init__(self, services: tuple[str, ...]):
        self._services = sorted(services)
        self._pool = descriptor_pool.Default()

    def methods(self) -> dict[str, Method]:
        """By path."""
        return {f"/{name}/ServerReflectionInfo": Method(self.info, True) for name in SERVICES}

    @answering
    async def info(self, message: bytes, call: Call) -> None:
        """One answer for each request."""
        call.send_initial_metadata()
        async for asked in call.messages():
            request = proto.parse(asked, ServerReflectionRequest)
            try:
                answer = self._answer(request)
            except KeyError:
                answer = _error(_NOT_FOUND, "not found")
            answer.original_request.CopyFrom(request)
            await call.write(answer.SerializeToString())

    def _answer(self, request: ServerReflectionRequest) -> ServerReflectionResponse:
        """Raises `KeyError`."""
        pool = self._pool
        match request.WhichOneof("message_request"):
            case "file_by_filename":
                return _files(pool.FindFileByName(request.file_by_filename))
            case "file_containing_symbol":
                return _files(pool.FindFileContainingSymbol(request.file_containing_symbol))
            case "file_containing_extension":
                asked = request.file_containing_extension
                extended = pool.FindMessageTypeByName(asked.containing_type)
                found = pool.FindExtensionByNumber(extended, asked.extension_number)
                return _files(pool.FindFileContainingSymbol(found.full_name))
            case "all_extension_numbers_of_type":
                return self._extensions(request.all_extension_numbers_of_type)
            case "list_services":
                rows = [ServiceResponse(name=name) for name in self._services]
                return ServerReflectionResponse(list_services_response=ListServiceResponse(service=rows))
        return _error(_INVALID_ARGUMENT, "invalid argument")

    def _extensions(self, name: str) -> ServerReflectionResponse:
        extended = self._pool.FindMessageTypeByName(name)
        numbers = sorted(extension.number for extension in self._pool.FindAllExtensions(extended))
        found = ExtensionNumberResponse(base_type_name=extended.full_name, extension_number=numbers)
        return ServerReflectionResponse(all_extension_numbers_response=found)


def _files(file: FileDescriptor) -> ServerReflectionResponse:
    """A file and all that it imports."""
    found: dict[str, bytes] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in found:
            found[file.name] = file.serialized_pb
            for imported in file.dependencies:
                add(imported)

    add(file)
    files = FileDescriptorResponse(file_descriptor_proto=found.values())
    return ServerReflectionResponse(file_descriptor_response=files)


def _error(code: int, message: str) -> ServerReflectionResponse:
    return ServerReflectionResponse(error_response=ErrorResponse(error_code=code, error_message=message))
