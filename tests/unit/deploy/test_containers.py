"""The Containerfile and the compose file: pinned, without privileges, and in step with the program."""

import inspect
import re
import tomllib
from typing import Any

import yaml

import tarsy
from support.deployment_files import ROOT, containerfile
from tarsy.cli.serve import serve
from tarsy.config.schema.configuration import vendor_variables
from tarsy.config.schema.system import QueueConfig
from tarsy.settings import settings_from

INSTRUCTIONS = containerfile()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())


def values(name: str) -> list[str]:
    return [instruction.value for instruction in INSTRUCTIONS if instruction.name == name]


def final_stage() -> list[str]:
    last = max(number for number, one in enumerate(INSTRUCTIONS) if one.name == "FROM")
    return [f"{one.name} {one.value}" for one in INSTRUCTIONS[last:]]


def test_base_images_name_their_registry_and_an_exact_version() -> None:
    assert len(values("FROM")) == 3
    for base in values("FROM"):
        assert re.fullmatch(r"[a-z.]+/[a-z/]+:\d+\.\d+\.\d+-[a-z-]+( AS [a-z]+)?", base), base


def test_the_python_of_the_image_is_the_one_that_the_lock_was_made_for() -> None:
    made_for = re.search(r'requires-python = ">=(\d+\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert made_for
    assert all(f"python:{made_for[1]}." in base for base in values("FROM")[1:])


def test_it_runs_as_a_plain_user_and_ships_no_build_tools() -> None:
    stage = final_stage()
    users = [line for line in stage if line.startswith("USER ")]
    assert users == ["USER 10001:10001"]
    assert not any("apt-get" in line or "pip install" in line or "npm" in line for line in stage)
    copies = [line for line in stage if line.startswith("COPY ")]
    assert copies == ["COPY --from=package /opt/tarsy /opt/tarsy"]
    assert stage.index(users[0]) < next(number for number, line in enumerate(stage) if line.startswith("ENTRYPOINT"))


def test_nothing_comes_from_an_unpinned_place() -> None:
    text = (ROOT / "Containerfile").read_text()
    assert ":latest" not in text
    assert re.findall(r"npm (?:install|i|add)\b.*", text) == ["npm install --no-save --no-audit --no-fund"]
    assert "dashboard/package-lock.json" in text
    assert "--require-hashes" in text
    assert "--constraint requirements.lock" in text
    assert not values("ADD")


def test_the_image_brings_its_bytecode_because_it_cannot_write_any() -> None:
    (installation,) = [command for command in values("RUN") if "/opt/tarsy/bin/python" in command]
    assert "--compile-bytecode" in installation
    assert "PYC_INVALIDATION_MODE=UNCHECKED_HASH" in installation
    assert "PYTHONDONTWRITEBYTECODE=1" in values("ENV")[-1]


def test_what_is_copied_into_the_build_exists_and_is_not_ignored() -> None:
    kept = {line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for copied in values("COPY"):
        if "--from=" not in copied:
            *sources, _ = copied.split()
            assert all({source, source.split("/")[0]} & kept for source in sources), copied


def test_the_build_has_everything_that_the_package_is_made_of() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = {source.rstrip("/") for value in values("COPY") if "--from=" not in value for source in value.split()[:-1]}
    assert {place.split("/")[0] for place in (*wheel["packages"], *wheel["force-include"])} <= copied


def test_command_health_check_and_data_directory_are_those_of_the_program() -> None:
    options = inspect.signature(serve).parameters
    command = yaml.safe_load(values("CMD")[0])
    assert command == ["serve", "--host", "0.0.0.0", "--port", "8080"]  # noqa: S104 - in a container
    assert options["port"].default == 8080
    assert values("EXPOSE") == ["8080"]
    assert "127.0.0.1:8080/ready" in values("HEALTHCHECK")[0]
    environment = dict(re.findall(r"(\w+)=(\S+)", values("ENV")[0]))
    assert str(settings_from(environment).data_dir) == values("VOLUME")[0] == values("WORKDIR")[-1]


def test_the_compose_file_takes_every_privilege_away_and_asks_for_every_secret() -> None:
    service = COMPOSE["services"]["tarsy"]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]  # noqa: S108 - a mount, not a file
    assert service["cap_drop"] == ["ALL"]
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    for secret in (service["environment"]["DATABASE_URL"], service["environment"]["TARSY_API_TOKENS"]):
        assert ":?" in secret
    keys = {name for vendor, names in vendor_variables().items() if vendor != "vertexai" for name in names}
    assert keys <= service["environment"].keys()
    assert re.fullmatch(r"\S+/postgres:\d+\.\d+-\w+", COMPOSE["services"]["postgres"]["image"])


def test_the_compose_file_lets_investigations_finish() -> None:
    minutes = int(COMPOSE["services"]["tarsy"]["stop_grace_period"].removesuffix("m"))
    grace = QueueConfig().graceful_shutdown_timeout
    assert grace + 30 <= minutes * 60 <= grace + 120


def test_every_place_names_the_version_of_the_program() -> None:
    kustomizations = [yaml.safe_load(file.read_text()) for file in (ROOT / "deploy").rglob("kustomization.yaml")]
    tags = {image["newTag"] for kustomization in kustomizations for image in kustomization["images"]}
    tags.add(COMPOSE["services"]["tarsy"]["image"].split(":")[1])
    assert tags == {tarsy.__version__}
