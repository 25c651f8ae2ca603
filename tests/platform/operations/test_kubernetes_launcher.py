"""Workers as Jobs of Kubernetes: what a pod may do, and what the launcher makes of each answer of the API.

The API is one of the tests, by Kubernetes' documents and schemas: no live cluster was at hand.
"""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from operations.launcher import kubernetes, scaling
from operations.launcher.kubernetes import KubernetesLauncher
from operations.launcher.kubernetes_job import job_manifest
from operations.launcher.launcher_interface import EngineError
from operations.launcher.scaling import JobLimits
from tests.kubernetes_api import KubernetesApi, RefusalError, applied_files, granted, node, problems
from tests.platform.operations.conftest import PODS

GPU = replace(PODS, gpu_resource="nvidia.com/gpu", node_labels={"pool": "large"})
CONTAINED = replace(PODS, runtime_class="kata")


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifest["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("options", [PODS, GPU, CONTAINED], ids=["plain", "gpu", "runtime class"])
def test_a_pod_has_no_rights_and_writes_to_folders_of_its_own(options: Any) -> None:
    manifest = job_manifest("gauntlet-tests", options, without=["n1", "n2"])
    assert problems(manifest) == []
    pod = pod_of(manifest)
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert container["securityContext"].items() >= {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }.items()  # fmt: skip
    assert all(set(volume) == {"name", "emptyDir"} for volume in pod["volumes"])
    assert container["resources"]["limits"].items() >= {"cpu": "2", "memory": "16Gi"}.items()
    assert (manifest["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never"), "the launcher starts the next one"


def test_only_a_pod_on_the_nodes_kernel_may_make_namespaces_and_is_in_one_of_its_own() -> None:
    """Kubernetes refuses an unmasked /proc where root of the pod is root of the node."""
    plain, contained = pod_of(job_manifest("n", PODS)), pod_of(job_manifest("n", CONTAINED))
    assert (plain["hostUsers"], plain["containers"][0]["securityContext"]["procMount"]) == (False, "Unmasked")
    assert plain["securityContext"]["seccompProfile"] == {"type": "Unconfined"}
    assert contained["runtimeClassName"] == "kata"
    assert contained["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "procMount" not in contained["containers"][0]["securityContext"]


def test_a_worker_is_one_of_its_node_and_each_slot_has_a_gpu() -> None:
    pod = pod_of(job_manifest("n", GPU))
    (container,) = pod["containers"]
    variables = {
        each["name"]: each.get("value") or each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]
    }
    assert variables.items() >= {
        "GAUNTLET_WORKER_NAME": "spec.nodeName", "GAUNTLET_WORKER_JOB": "metadata.name",
        "GAUNTLET_WORKER_IDLE_SECONDS": "60", "GAUNTLET_WORKER_STOP_SECONDS": "75",
        "GAUNTLET_WORKER_CLASS": "gpu", "GAUNTLET_WORKER_DEVICES": "0,1",
    }.items()  # fmt: skip
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert pod["nodeSelector"] == {"pool": "large"}


def test_the_schemas_refuse_what_kubernetes_would() -> None:
    wrong = job_manifest("n", PODS)
    pod_of(wrong)["hostUser"] = False
    pod_of(wrong)["activeDeadlineSeconds"] = "240"
    assert len(problems(wrong)) == 2


def test_what_an_operator_applies_fits_the_schemas_and_grants_what_the_launcher_asks(
    api: KubernetesApi, kubernetes_launcher: KubernetesLauncher
) -> None:
    files = applied_files()
    assert [problems(each) for each in files] == [[]] * len(files)
    kubernetes_launcher.hosts()
    kubernetes_launcher.cancel([kubernetes_launcher.start(without=[])])
    kubernetes_launcher.jobs()
    assert api.asked == granted()
    (policy,) = [each["spec"] for each in files if each["kind"] == "NetworkPolicy" and not each["spec"]["podSelector"]]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy, "nobody connects to a pod"
    assert all(rule["to"] for rule in policy["egress"]), "each rule names where to"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RefusalError(401, "Unauthorized", "Unauthorized"), r"refuses .* \(401\): Unauthorized"),
        (
            RefusalError(403, "Forbidden", "exceeded quota: workers, requested: cpu=2"),
            r"refuses .* \(403\): exceeded quota",
        ),
        (
            RefusalError(409, "AlreadyExists", "the server was not able to generate a unique name"),
            r"refuses .* \(409\)",
        ),
        (RefusalError(410, "Expired", "The provided continue parameter is too old"), r"refuses .* \(410\)"),
        (RefusalError(500, "InternalError", "etcdserver: request timed out"), r"refuses .* \(500\)"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 2\r\n\r\n{}", r"\(302\)"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 8\r\n\r\n<a page>", "does not answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", "does not answer"),
        (b"", "does not answer"),
        (0.6, "does not answer .*timed out"),
    ],
    ids=["401", "quota", "409", "410", "500", "redirection", "a page", "null", "hangs up", "silence"],
)
def test_a_refusal_is_said_and_the_next_request_is_a_new_one(
    api: KubernetesApi, kubernetes_launcher: KubernetesLauncher, monkeypatch: pytest.MonkeyPatch, answer: Any, said: str
) -> None:
    monkeypatch.setattr(kubernetes, "_SECONDS", 0.5)
    api.refusal = answer
    for ask in (kubernetes_launcher.jobs, lambda: kubernetes_launcher.start(without=[])):
        with pytest.raises(EngineError, match=said):
            ask()
    api.refusal = None
    kubernetes_launcher.start(without=[])
    assert len(kubernetes_launcher.jobs()) == 1


def test_a_server_of_another_certificate_is_not_asked(
    api: KubernetesApi, kubernetes_launcher: KubernetesLauncher
) -> None:
    (api.folder / "ca.crt").unlink()
    with pytest.raises(EngineError, match="CERTIFICATE_VERIFY_FAILED"):
        kubernetes_launcher.jobs()
    assert api.asked == set()


def test_the_token_is_read_again_for_each_request(api: KubernetesApi, kubernetes_launcher: KubernetesLauncher) -> None:
    token = (api.folder / "token").read_text()
    (api.folder / "token").write_text("expired")
    with pytest.raises(EngineError, match="401"):
        kubernetes_launcher.jobs()
    (api.folder / "token").write_text(token)
    assert kubernetes_launcher.jobs() == []


def test_jobs_that_ended_or_that_somebody_deleted_count_no_more(
    api: KubernetesApi, kubernetes_launcher: KubernetesLauncher
) -> None:
    complete, evicted, leaving, deleted, running = (kubernetes_launcher.start(without=[]) for _ in range(5))
    api.jobs[complete]["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    api.pods[evicted]["status"] = {"phase": "Failed", "reason": "Evicted"}
    api.jobs[leaving]["metadata"]["deletionTimestamp"] = "2026-11-29T20:00:00Z"
    del api.jobs[deleted]
    assert [job.number for job in kubernetes_launcher.jobs()] == [running]
    kubernetes_launcher.cancel([deleted, running])
    assert kubernetes_launcher.jobs() == []
    assert running not in api.pods


def test_pods_that_wait_for_ever_have_a_reason_and_no_more_of_them_are_asked_for(
    api: KubernetesApi, kubernetes_launcher: KubernetesLauncher, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    monkeypatch.setattr(scaling, "waiting_items", lambda worker_class: 8)
    limits = JobLimits(most=16, slots=2)
    assert scaling.step(kubernetes_launcher, limits, worker_class="cpu").startswith("8 items wait: asked for the jobs")
    assert len(api.jobs) == 4
    running = [name for name, pod in api.pods.items() if pod["status"]["phase"] == "Running"]
    waiting = sorted(set(api.pods) - set(running))
    for name in running:
        api.jobs[name]["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    api.makes_pods = False
    api.pods[waiting[0]]["spec"]["nodeName"] = "n1"
    waits = {"reason": "ImagePullBackOff", "message": "no such image"}
    api.pods[waiting[0]]["status"] = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": waits}}]}
    scaling.step(kubernetes_launcher, limits, worker_class="cpu")
    assert len(api.jobs) == 6, "one slot for each item, without those that were asked for"
    said = {scaling.step(kubernetes_launcher, limits, worker_class="cpu") for _ in range(3)}
    assert said == {
        "4 jobs wait for the cluster: ImagePullBackOff: no such image, Unschedulable: 0/2 nodes are available, "
        "it has no pod: see kubectl describe job"
    }
    assert len(api.jobs) == 6


def test_hosts_are_nodes_that_take_such_pods(api: KubernetesApi, kubernetes_launcher: KubernetesLauncher) -> None:
    api.nodes = [
        node("plain"), node("control", taint="node-role.kubernetes.io/control-plane"),
        node("gpu", taint="nvidia.com/gpu", gpus="4"), node("broken-gpu", gpus="0"),
    ]  # fmt: skip
    cordoned = node("cordoned", gpus="4")
    cordoned["spec"]["unschedulable"] = True
    api.nodes.append(cordoned)
    assert kubernetes_launcher.hosts() == {"plain", "broken-gpu"}
    with_gpu = replace(kubernetes_launcher, options=replace(PODS, gpu_resource="nvidia.com/gpu"))
    assert with_gpu.hosts() == {"gpu"}
    labelled = replace(kubernetes_launcher, options=replace(PODS, node_labels={"kubernetes.io/hostname": "plain"}))
    assert labelled.hosts() == {"plain"}


def launch(*options: str) -> str:
    out = StringIO()
    call_command("launch_workers", "--engine", "kubernetes", "--most", "4", *options, stdout=out)
    return out.getvalue()


def test_the_command_shows_the_manifest_of_its_options(db: None) -> None:
    shown = json.loads(launch("--image", "w:1", "--gpu", "--slots", "1", "--node-label", "pool=large", "--show"))
    assert problems(shown) == []
    assert shown["metadata"]["generateName"].endswith("-gpu-")
    assert pod_of(shown)["nodeSelector"] == {"pool": "large"}
    assert pod_of(shown)["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no image is named"),
        (("--image", "w:1", "--node-label", "pool"), "--node-label pool has no value"),
        (("--image", "w:1", "--memory", "0"), "--memory is 0"),
        (("--image", "w:1", "--", "--partition=gpu"), "--partition=gpu is an option of sbatch"),
    ],
)
def test_the_command_names_what_is_wrong_with_its_options(db: None, options: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        launch(*options)
