"""What `import gemenv` costs over `import gymnasium`: whole processes in turn, CPU time.

python tests/benchmarks/imports.py
"""

import statistics
import subprocess
import sys

_ROUNDS = 15
_TIMED = """
import time
began = time.process_time()
import {module}
print(time.process_time() - began)
"""


def _cpu_ms(module: str) -> float:
    code = "import gymnasium\n" * (module == "gemenv") + _TIMED.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) * 1e3


def main() -> None:
    """Print medians, and the ratio to gymnasium's own import."""
    pairs = [(_cpu_ms("gymnasium"), _cpu_ms("gemenv")) for _ in range(_ROUNDS)]
    base = statistics.median(pair[0] for pair in pairs)
    ours = statistics.median(pair[1] for pair in pairs)
    print(f"import gymnasium                 {base:6.1f} ms CPU")
    print(
        f"import gemenv, gymnasium loaded  {ours:6.1f} ms CPU   ratio {ours / base:.2f}   limit 50"
    )


if __name__ == "__main__":
    main()
