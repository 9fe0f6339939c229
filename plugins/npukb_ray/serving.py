"""A judge behind Ray Serve: replicas on the nodes of a cluster, one address, as many as what waits asks for.

A replica is the judge of ``npukb serve-judge`` in an actor: the same scorer, the same messages, the same refusals.
Ray's proxy takes connections, hands each request to the replica that has the fewest, and holds what all are too busy
for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from npukb_ray.desk import Desk, Facts, Inner
from npukb_ray.missing import imports_of_ray
from npukernelbench.config import resolve
from npukernelbench.errors import ExecutorError
from npukernelbench.rewards.callers import CALLER_HEADER
from npukernelbench.rewards.replicas import Replicas
from npukernelbench.rewards.scorer import local_scorer
from npukernelbench.rewards.service import JudgeService, Reply

__all__ = ["Replica", "deployed"]

_NAME = "npukb-judge"
#: Requests for each job that a replica holds, and with how many of them another replica is worth its start.
_HELD_PER_JOB, _WANTED_PER_JOB = 4, 2
_START_S = 600.0
_UPSCALE_S, _DOWNSCALE_S = 5.0, 300.0


class Replica:
    """One judge. Ray calls it for every request."""

    def __init__(self, replicas: Replicas, inner: Inner, jobs: int, expected: Facts) -> None:
        """ExecutorError on a node that is not as ``expected``: its verdicts might be others."""
        # Compared before anything is judged: one differing replica would give other rewards at random.
        here = Desk(inner.name, inner.args).facts()
        if here != expected:
            raise ExecutorError(f"this node judges nothing, it differs: {expected.differences(here)}")
        settings = {**replicas.settings, "executor": inner.name, "executor_args": dict(inner.args), "jobs": jobs}
        scorer = local_scorer(resolve(options=settings), replicas.policy, cache=replicas.cache)
        self._service = JudgeService(scorer, replicas.callers)
        # More threads than jobs: those that wait for a place hold their requests' connections open.
        self._threads = ThreadPoolExecutor(jobs * _HELD_PER_JOB)

    async def __call__(self, request: Any) -> Any:
        """The answer to a request of Starlette's."""
        from starlette.responses import Response

        reply = await self._reply(request)
        return Response(reply.data, reply.status, dict(reply.headers), reply.kind)

    async def _reply(self, request: Any) -> Reply:
        service, path = self._service, request.url.path
        address = request.client.host if request.client else ""
        given, named = request.headers.get("Authorization", ""), request.headers.get(CALLER_HEADER, "")
        # before the path is looked at: a stranger gets the same answer for every path
        caller = service.callers.find(given, named, address)
        if caller is None:
            return service.nobody()
        if path == "/metrics":
            return service.refuse(
                HTTPStatus.NOT_FOUND, "each replica has its own", "Ray's metrics have those of Ray Serve"
            )
        if request.method == "GET":
            return service.look_up(path)
        if path != "/v1/score":
            return service.refuse(HTTPStatus.NOT_FOUND, f"nothing is at {path}", "POST /v1/score")
        body = await request.body()
        # a judgement blocks: on the event loop it would hold up every other request of this replica
        answer = partial(service.answer, lambda: body, caller)
        return await asyncio.get_running_loop().run_in_executor(self._threads, answer)


@contextmanager
def deployed(replicas: Replicas, inner: Inner, expected: Facts, head: str) -> Iterator[str]:
    """Replicas on a cluster that is joined already, until the context ends. ExecutorError when they do not start."""
    with imports_of_ray():
        from ray.exceptions import RayError

        from ray import serve
    needed = inner.needed
    jobs = replicas.jobs or max(1, int(needed.get("CPU", 1)))
    made = serve.deployment(Replica).options(
        name=_NAME,
        ray_actor_options={
            "num_cpus": needed.get("CPU", 0),
            "resources": {name: amount for name, amount in needed.items() if name != "CPU"},
        },
        max_ongoing_requests=jobs * _HELD_PER_JOB,
        **_scale(replicas, jobs),
    )
    try:
        _begin(serve, {"host": replicas.host, "port": replicas.port})
        serve.run(made.bind(replicas, inner, jobs, expected), name=_NAME, route_prefix="/")
    except (RayError, RuntimeError, TimeoutError) as error:
        raise ExecutorError(
            f"the replicas did not start: {str(error).strip().splitlines()[0]}",
            remedy="look at Ray's logs, and at the room of the nodes",
        ) from error
    try:
        # 0.0.0.0 is every interface of the head, and no address that a caller could use
        yield f"http://{head if replicas.host == '0.0.0.0' else replicas.host}:{replicas.port}"
    finally:
        serve.delete(_NAME)
        # the cluster may serve applications of others
        if not serve.status().applications:
            serve.shutdown()


def _begin(serve: Any, where: Mapping[str, object]) -> None:
    """Ray Serve with a proxy on the head. Ray waits for it for a minute, in which a busy machine imports half of it."""
    try:
        serve.start(proxy_location="HeadOnly", http_options=where)
    except TimeoutError:
        deadline = time.monotonic() + _START_S
        while not any(proxy.value == "HEALTHY" for proxy in serve.status().proxies.values()):
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _scale(replicas: Replicas, jobs: int) -> dict[str, object]:
    """So many replicas, or as many as what waits asks for."""
    count = replicas.count
    if count.least == count.most:
        return {"num_replicas": count.least}
    wanted = {
        "min_replicas": count.least,
        "max_replicas": count.most,
        "target_ongoing_requests": jobs * _WANTED_PER_JOB,
        "upscale_delay_s": _UPSCALE_S,
        "downscale_delay_s": _DOWNSCALE_S,
    }
    return {"autoscaling_config": wanted}
