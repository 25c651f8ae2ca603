"""Workers as Jobs of Kubernetes, by its API (batch/v1; by its documents and schemas, no live cluster was at hand)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from operations.launcher.kubernetes_job import INSTANCE, PodOptions, job_manifest
from operations.launcher.launcher_interface import EngineError, WorkerJob

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token of its service account."""

SERVER = "https://kubernetes.default.svc"
"""The address of the API in a cluster."""

_SECONDS = 30
_JOB_LABEL = "batch.kubernetes.io/job-name"
_ENDED_JOB = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
_ENDED_POD = frozenset({"Succeeded", "Failed"})
_STARTS = frozenset({"ContainerCreating", "PodInitializing"})
_REPELS = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True)
class KubernetesLauncher:
    """Jobs of one label in a namespace, each a worker in one pod.

    `account` is a folder with the `token` of a service account, read again for each request, and the certificates
    `ca.crt` of the server; each may be missing, as for `kubectl proxy`.
    """

    name: str
    namespace: str
    options: PodOptions
    server: str = SERVER
    account: Path = ACCOUNT

    def hosts(self) -> set[str]:
        """Return the names of the nodes on which a job could run."""
        labels = ",".join(f"{key}={value}" for key, value in self.options.node_labels.items())
        nodes = self._ask("GET", "/api/v1/nodes", labelSelector=labels)["items"]
        return {node["metadata"]["name"] for node in nodes if _takes_pods(node, tolerated=self.options.gpu_resource)}

    def start(self, *, without: Sequence[str]) -> str:
        """Create a job; return its name."""
        manifest = job_manifest(self.name, self.options, without=without)
        return str(self._ask("POST", self._jobs, manifest)["metadata"]["name"])

    def jobs(self) -> list[WorkerJob]:
        """Return the jobs of this name that have not ended."""
        label = f"{INSTANCE}={self.name}"
        jobs = self._ask("GET", self._jobs, labelSelector=label)["items"]
        pods = self._ask("GET", f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=label)["items"]
        pod_of = {pod["metadata"]["labels"].get(_JOB_LABEL): pod for pod in pods}
        found = (_worker_job(job, pod_of.get(job["metadata"]["name"])) for job in jobs)
        return [job for job in found if job is not None]

    def cancel(self, numbers: Sequence[str]) -> None:
        """Delete jobs and their pods, unless somebody else did."""
        for number in numbers:
            self._ask("DELETE", f"{self._jobs}/{number}", gone_is_fine=True, propagationPolicy="Background")

    @property
    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    def _ask(
        self, method: str, path: str, body: Any = None, *, gone_is_fine: bool = False, **query: str
    ) -> dict[str, Any]:
        token, certificates = self.account / "token", self.account / "ca.crt"
        try:
            headers = {"Authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}
            with requests.Session() as session:
                session.trust_env = False  # a .netrc would replace the token
                session.verify = str(certificates) if certificates.exists() else True
                answer = session.request(
                    method, f"{self.server}{path}", json=body, params=query, headers=headers, timeout=_SECONDS,
                    allow_redirects=False,
                )  # fmt: skip
            found = dict(answer.json())
        except (OSError, TypeError, ValueError) as error:  # those of requests, and an answer that is no object
            raise EngineError(f"Kubernetes does not answer {method} {path}: {error}") from error
        if answer.status_code >= 300 and not (gone_is_fine and answer.status_code == requests.codes.not_found):
            raise EngineError(f"Kubernetes refuses {method} {path} ({answer.status_code}): {found.get('message', '')}")
        return found


def _worker_job(job: Mapping[str, Any], pod: Mapping[str, Any] | None) -> WorkerJob | None:
    """Return what a job is; None if it has ended."""
    if "deletionTimestamp" in job["metadata"] or _true_conditions(job) & _ENDED_JOB:
        return None
    name, without = job["metadata"]["name"], _avoided(job["spec"]["template"]["spec"])
    if pod is None:
        return WorkerJob(name, running=False, reason="it has no pod: see kubectl describe job", without=without)
    phase = pod.get("status", {}).get("phase")
    if phase in _ENDED_POD:
        return None
    return WorkerJob(name, running=phase == "Running", reason=_reason(pod), without=without)


def _true_conditions(thing: Mapping[str, Any]) -> set[str]:
    conditions = thing.get("status", {}).get("conditions") or ()
    return {each["type"] for each in conditions if each["status"] == "True"}


def _reason(pod: Mapping[str, Any]) -> str:
    """Return why a pod does not run yet: no node takes it, or its image is not there; empty if nothing hinders it."""
    status = pod.get("status", {})
    hindered = [
        *(
            each
            for each in status.get("conditions") or ()
            if each["type"] == "PodScheduled" and each["status"] != "True"
        ),
        *(each["state"].get("waiting", {}) for each in status.get("containerStatuses") or () if "state" in each),
    ]
    named = (each for each in hindered if each.get("reason", "ContainerCreating") not in _STARTS)
    return next((": ".join(filter(None, (each["reason"], each.get("message")))) for each in named), "")


def _avoided(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the nodes that `job_manifest` left out of a pod."""
    rule = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = rule.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    fields = (each for term in terms for each in term.get("matchFields", ()) if each["operator"] == "NotIn")
    return frozenset(name for each in fields for name in each["values"])


def _takes_pods(node: Mapping[str, Any], *, tolerated: str) -> bool:
    """Return whether a node takes new pods, which for a resource needs that it has any of it."""
    spec = node.get("spec", {})
    repels = (taint for taint in spec.get("taints") or () if taint["effect"] in _REPELS)
    has = not tolerated or node.get("status", {}).get("allocatable", {}).get(tolerated, "0") != "0"
    return has and not spec.get("unschedulable") and all(taint["key"] == tolerated for taint in repels)
