# gemenv with everything it needs, on a CPU:  docker build -t gemenv . && docker run --rm gemenv list
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /gemenv
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY gemenv ./gemenv
COPY examples ./examples
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --index-url ${TORCH_INDEX} torch==2.13.0 \
 && pip install --no-cache-dir -c constraints.txt ".[all]"
ENTRYPOINT ["gemenv"]
CMD ["--help"]
