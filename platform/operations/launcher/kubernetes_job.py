"""The Job of Kubernetes that is a worker: one pod without rights, which is never started again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

GRACE_SECONDS = 90
"""A pod that has to end gets SIGTERM so long before SIGKILL: time to end the item that it plays."""

STOP_SECONDS = 75
"""An item that it has not ended by then it returns to the queue: killed with it, it would count as its fault."""

LOG_SECONDS = 3600
"""The log of an ended pod can be read for so long."""

INSTANCE = "app.kubernetes.io/instance"
"""The label of all jobs of one launcher."""

_USER = 10001
"""The user of the site in the images of the Dockerfile."""

_FILES = "/var/lib/gauntlet"


@dataclass(frozen=True)
class PodOptions:
    """What the jobs of one launcher have in common.

    `secret` holds the settings that `manage.py join` kept. A pod has `slots` processes that play, with a core,
    `memory_gib` and, if `gpu_resource` is named, a GPU each. `runtime_class` names a runtime with a kernel of its own.
    """

    image: str
    secret: str
    slots: int
    minutes: int
    idle_seconds: int
    memory_gib: int
    disk_gib: int
    gpu_resource: str = ""
    runtime_class: str = ""
    node_labels: Mapping[str, str] = field(default_factory=dict)


def job_manifest(name: str, options: PodOptions, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the manifest of a job of the launcher `name` that runs on no node of `without`."""
    labels = {"app.kubernetes.io/name": "gauntlet-worker", INSTANCE: name}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": f"{name}-", "labels": labels},
        "spec": {
            "backoffLimit": 0,  # the launcher starts another one where work is left
            "ttlSecondsAfterFinished": LOG_SECONDS,
            "template": {"metadata": {"labels": labels}, "spec": _pod(options, without)},
        },
    }


def _pod(options: PodOptions, without: Sequence[str]) -> dict[str, Any]:
    seccomp = "RuntimeDefault" if options.runtime_class else "Unconfined"
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        # of the pod, not of the job: a job that waits for a node does not grow old
        "activeDeadlineSeconds": options.minutes * 60,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": dict(options.node_labels),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": seccomp},
        },
        "containers": [_container(options)],
        "volumes": [
            {"name": "files", "emptyDir": {"sizeLimit": f"{options.disk_gib}Gi"}},
            {"name": "temporary", "emptyDir": {"sizeLimit": f"{options.disk_gib}Gi"}},
        ],
    }
    if options.runtime_class:
        pod["runtimeClassName"] = options.runtime_class
    else:
        pod["hostUsers"] = False
    if options.gpu_resource:
        pod["tolerations"] = [{"key": options.gpu_resource, "operator": "Exists"}]
    if without:
        # one value each is all that a field may be compared with
        fields = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in without]
        terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod


def _container(options: PodOptions) -> dict[str, Any]:
    slots = str(options.slots)
    resources = {"cpu": slots, "memory": f"{options.slots * options.memory_gib}Gi"}
    variables = {
        "GAUNTLET_STATE": f"{_FILES}/site",
        "XDG_STATE_HOME": f"{_FILES}/host",
        "XDG_CACHE_HOME": f"{_FILES}/host",
        "GAUNTLET_WORKER_IDLE_SECONDS": str(options.idle_seconds),
        "GAUNTLET_WORKER_STOP_SECONDS": str(STOP_SECONDS),
    }
    if options.gpu_resource:
        resources[options.gpu_resource] = slots
        variables["GAUNTLET_WORKER_CLASS"] = "gpu"
        variables["GAUNTLET_WORKER_DEVICES"] = ",".join(map(str, range(options.slots)))  # the pod has no others
    # a node is a host: its health, its faults and its results are compared with those of others, whichever job it runs
    fields = {"GAUNTLET_WORKER_NAME": "spec.nodeName", "GAUNTLET_WORKER_JOB": "metadata.name"}
    context: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    if not options.runtime_class:
        context["procMount"] = "Unmasked"  # else bubblewrap cannot mount a /proc for players
    return {
        "name": "worker",
        "image": options.image,
        "command": [
            "celery", "--app", "config", "worker", "--queues", "play", "--concurrency", slots, "--hostname", "play@%h"
        ],
        "envFrom": [{"secretRef": {"name": options.secret}}],
        "env": [
            *({"name": name, "value": value} for name, value in variables.items()),
            *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()),
        ],
        "resources": {"requests": resources, "limits": resources},
        "securityContext": context,
        "volumeMounts": [{"name": "files", "mountPath": _FILES}, {"name": "temporary", "mountPath": "/tmp"}],  # noqa: S108 - the pod's own
    }  # fmt: skip
