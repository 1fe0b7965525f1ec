# A study in a container: mount the folder of study.yaml at /study, with all that it names.
#   docker build -t pqpp .
#   docker run -v "$PWD":/study -p 127.0.0.1:8000:8000 pqpp
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir "/source[annotate,postgresql]" && rm -r /source \
    && useradd --create-home --uid 1000 pqpp
USER pqpp
WORKDIR /study
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health')"
# The port is published on this machine only (above); a reverse proxy with TLS stands before it.
# To believe what it says of who asks: `-e FORWARDED_ALLOW_IPS=172.17.0.1`, Docker's usual bridge.
ENTRYPOINT ["pqpp", "annotate"]
CMD ["serve", "study.yaml", "--host", "0.0.0.0"]
