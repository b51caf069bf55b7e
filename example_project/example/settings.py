"""Settings of the example, as `scrapy startproject` writes them, and one line more."""

import os

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
NEWSPIDER_MODULE = "example.spiders"

# The one line: each page is kept once.
ADDONS = {"scrapy_simhash.Addon": 500}

# The containers of compose.yaml say where the index is that they share, and the log.
SIMHASH_INDEX_URL = os.environ.get("SIMHASH_INDEX_URL")
SIMHASH_LOG = os.environ.get("SIMHASH_LOG")

ROBOTSTXT_OBEY = True
LOG_LEVEL = "INFO"
FEED_EXPORT_ENCODING = "utf-8"

# The example crawls pages served on loopback; a crawl of the web does not need this.
DOWNLOADER_MIDDLEWARES = {"example.middlewares.LoopbackMiddleware": 740}

# A line on the terminal that says how the crawl is going.
EXTENSIONS = {"example.progress.ProgressLine": 500}
