"""The compose file, the Kubernetes manifest, the image's recipe and .env.example fit Turnfold and each other.

These tests show what a schema of theirs cannot say. They leave out rules and dashboards (``test_monitoring``).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values

from tests.proxy.harness import api_server, call
from tests.support.cases import each
from turnfold.config.serving import ServerSettings
from turnfold.config.sources import VARIABLES, load

ROOT = Path(__file__).resolve().parents[2]
NAMES = set(VARIABLES.values())


class Strict(yaml.SafeLoader):
    """Refuses a key that is given twice, as Compose and Kubernetes do."""


def _mapping(loader: Strict, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"given twice: {keys} {node.start_mark}"
    return loader.construct_mapping(node, deep=True)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@each("file", ["docker-compose.yml", *sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("docs/**/*.y*ml"))])
def test_every_file_is_yaml_that_compose_kubernetes_and_prometheus_read(file: str) -> None:
    assert all(yaml.load_all((ROOT / file).read_text("utf-8"), Strict))


def compose() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))


def manifest() -> dict[str, Any]:
    documents = yaml.safe_load_all((ROOT / "docs" / "deploy" / "kubernetes.yaml").read_text("utf-8"))
    return {document["kind"]: document for document in documents}


def test_every_setting_of_env_arrives_and_none_is_demanded() -> None:
    turnfold = compose()["services"]["turnfold"]
    assert turnfold["env_file"] == [{"path": ".env", "required": False}]
    assert set(turnfold["environment"]) == {"TURNFOLD_HOST", "TURNFOLD_PORT", "TURNFOLD_STORE_URL"}
    assert ":?" not in (ROOT / "docker-compose.yml").read_text("utf-8")


def test_env_example_loads_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    text = (ROOT / ".env.example").read_text("utf-8")
    (tmp_path / ".env").write_text(text, "utf-8")
    load(directory=tmp_path)
    given = dotenv_values(ROOT / ".env.example")
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text("utf-8")))
    assert {name for name in given if name not in NAMES} == used - NAMES


def test_what_compose_mounts_is_there() -> None:
    for service in compose()["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose()["volumes"] or (ROOT / source).is_file(), volume


def test_others_join_turnfold_and_reach_nothing_else() -> None:
    services, networks = compose()["services"], compose()["networks"]
    assert networks["turnfold"] == {"name": "turnfold"}
    assert networks["store"] == {"internal": True}
    assert services["store"]["networks"] == ["store"]
    assert "ports" not in services["store"]
    assert all(port.startswith("127.0.0.1:") for one in services.values() for port in one.get("ports", []))
    assert services["turnfold"]["extra_hosts"] == ["host.docker.internal:host-gateway"]
    assert {name for name, one in services.items() if one.get("profiles")} == {"prometheus", "grafana"}


def test_the_scrape_finds_turnfold_and_its_token() -> None:
    (scrape,) = yaml.safe_load((ROOT / "docs" / "deploy" / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    assert scrape["static_configs"][0]["targets"] == ["turnfold:8420"]
    assert scrape["authorization"]["credentials_file"] == "/run/secrets/admin_token"
    assert compose()["secrets"] == {"admin_token": {"environment": "TURNFOLD_ADMIN_TOKEN"}}
    dashboard = json.loads((ROOT / "docs" / "deploy" / "grafana" / "turnfold.json").read_text("utf-8"))
    assert dashboard["uid"] == "turnfold"


def test_the_manifest_names_settings_that_there_are() -> None:
    found = manifest()
    container = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    names = {*found["Secret"]["stringData"], *found["ConfigMap"]["data"], *(one["name"] for one in container["env"])}
    assert names <= NAMES
    secrets = {name for name in names if "TOKEN" in name or "SECRET" in name or "STORE_URL" in name}
    assert secrets == set(found["Secret"]["stringData"])


def test_pods_are_found_probed_and_drained() -> None:
    found = manifest()
    deployment = found["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    (container,) = pod["containers"]
    labels = deployment["template"]["metadata"]["labels"]
    selectors = (deployment["selector"]["matchLabels"], found["Service"]["spec"]["selector"])
    assert all(selector == labels for selector in (*selectors, found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]))
    assert container["ports"] == [{"name": "http", "containerPort": ServerSettings().port}]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == container["startupProbe"]["httpGet"]["path"] == "/healthz"
    command = container["lifecycle"]["preStop"]["exec"]["command"][-1]
    assert command.startswith(f"touch {container['env'][0]['value']} && sleep ")
    waits = int(command.rpartition(" ")[2])
    probe = container["readinessProbe"]
    assert waits >= probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"]
    assert pod["terminationGracePeriodSeconds"] >= waits + 25 + 5  # the server's own patience with streams
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert deployment["replicas"] > found["PodDisruptionBudget"]["spec"]["minAvailable"]


def test_the_last_stage_has_no_compiler_and_no_package_tool() -> None:
    last = (ROOT / "Dockerfile").read_text("utf-8").split("\nFROM ")[-1]
    commands = re.sub(r"\\\n", " ", last)
    assert not re.search(r"\b(?:apt-get|apk|pip install|gcc|curl|wget)\b", commands)
    assert "rm -rf /usr/local/bin/pip*" in commands
    assert "USER 10001" in commands
    assert str(manifest()["Deployment"]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]) in commands


def test_while_the_drain_file_exists_balancers_are_sent_away_and_requests_served(tmp_path: Path) -> None:
    file = tmp_path / "drain"
    with api_server("memory://", server=ServerSettings(drain_file=file)) as origin:
        assert call(origin, "GET", "/readyz").status == 200
        file.touch()
        drained = call(origin, "GET", "/readyz")
        assert (drained.status, drained.json()["checks"]["taking_requests"]) == (503, "down")
        assert call(origin, "GET", "/healthz").status == call(origin, "GET", "/v1/cache/stats").status == 200
        file.unlink()
        assert call(origin, "GET", "/readyz").status == 200
