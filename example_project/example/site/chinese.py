"""Subjects of the Chinese-language publishers: people, places and sentences, all made up."""

from __future__ import annotations

from example.site.grammar import Rules, words

RULES: Rules = {
    "surname": list("沈陆顾秦韩苏叶程傅钟纪柳贺尹俞骆丁袁温邵"),
    "given": words("""砚秋 望舒 景行 知微 怀瑾 云帆 若溪 听澜 守拙 思齐 明远 晚晴 仲夏 青岚
        书白 以宁 星野 维桢 长庚 南枝"""),
    "hero": ["{surname}{given}"],
    "rival": ["{surname}{given}"],
    "place": words("""云栖镇 白鹭洲 石桥铺 青禾县 柳溪村 望江坊 梨园沟 松涧乡 月牙湾 枫林渡
        雁回岭 竹里巷 芦荡口 碧山街 河埠头 杏花坪 龙眼坝 桂坊里 沙洲圩 落星湖"""),
    "body": words("""河道管理处 镇文化站 老街商会 县博物馆 渔业合作社 轮渡公司 茶农协会
        气象观测站 图书馆理事会 古桥保护小组 中心小学 植物研究所 消防中队 戏曲社 水文勘测队
        邮政支局"""),
    "thing": words("""石拱桥 水磨坊 老戏台 灯塔 轮渡码头 钟楼 藏书楼 酱园 染坊 茶市 抽水站
        观星台 粮仓 缆车站 供销社 造纸作坊 船坞 窑炉"""),
    "part": words("""木门槛 青砖墙 瓦屋顶 石栏杆 铁链条 雕花窗 排水沟 承重梁 铜钟 台阶 护坡
        齿轮 油漆 地基 天井 照壁 飞檐 电缆"""),
    "creature": words("白鹭 蜜蜂 鲫鱼 刺猬 燕子 萤火虫 水獭 野鸭 蝙蝠 黄鼬 喜鹊 泥鳅"),
    "quality": words(
        "谨慎 大胆 少见 迟来 棘手 务实 周全 冒险 温和 昂贵 意外 稳妥 热闹 费解"
    ),
    "trade": words("""石匠 语文老师 退休船长 植物学家 织网工 测量员 面点师傅 水文工程师 装裱匠
        档案员 养蜂人 修表匠 电工 木匠 邮递员 药农 裁缝 琴师"""),
    "day": words("周一 周二 周三 周四 周五 周六 周日"),
    "season": words("春天 夏天 秋天 冬天"),
    "month": words("一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月"),
    "number": [str(number) for number in range(13, 990, 7)],
    "year": [str(year) for year in range(1905, 2011, 3)],
    "doing": words(
        "修缮 重漆 测绘 重新开放 清淤 扩建 拆除 登记造册 加固 迁移 改造 封闭"
    ),
    "reason": words("""保险费用逐年上涨 连续三年的多雨天气 木材供应一直短缺 上游居民接连投诉
        档案里发现的一封旧信 潮汐表上的一处差错 采石场突然关闭 一位匿名人士的捐款
        新颁布的防火规定 游泳者偶然看到的裂缝 夜班渡船恢复通航"""),
    "event": words(
        "龙舟赛 灯会 丰收宴 风筝节 义卖会 纳凉音乐会 茶市开秤 年货大集 诗歌晚会 换种集市"
    ),
    "food": words("桂花糕 熏鱼 荞麦面 腌笃鲜 梅子酒 豆腐干 糯米藕 菱角 炒栗子 麦芽糖"),
    "headline": [
        "{place}拟{doing}{thing}，居民看法不一",
        "{reason}，{place}的{thing}怎么办",
        "{place}的{trade}与一座{thing}",
        "{event}临近，{place}忙着{doing}{part}",
        "{year}年的{thing}回到{place}",
        "{creature}归来：{place}的{quality}一季",
    ],
    "sentence": [
        "{place}的{body}在{day}的会议上决定，{doing}{thing}的事情不能再拖到明年{season}。",
        "在这里做了半辈子{trade}的{hero}认为方案过于{quality}，希望先请人把{part}重新看一遍。",
        "一份长达{number}页的调查报告写道，{reason}才是工期一再推迟的主要原因。",
        "“谁也没有想到{part}能用这么久。”{hero}在茶馆里说完，大家都笑了起来。",
        "如果天气允许，{part}的施工将在{month}开始，前后大约需要{number}天。",
        "县志记载，{thing}始建于{year}年，当时{place}的住户还不到{number}家。",
        "代表{body}发言的{rival}回应说，有{number}户人家每天都离不开{thing}，却没有人征求过他们的意见。",
        "志愿者今年{season}沿着河岸一共数到{number}只{creature}，是{year}年以来最多的一次。",
        "全部费用估计为{number}万元，由{body}和前来参加{event}的商户共同承担。",
        "也有人不赞成，一份反对{doing}{part}的联名信在一个星期里收到了{number}个签名。",
        "小学生用绳子和粉笔量了{part}的长度，结果与图纸上的数字只差{number}毫米。",
        "那一年{month}的大水冲走了{part}，{place}的人靠着小木船来往，整整过了{number}个夜晚。",
        "{hero}的抽屉里收着{year}年的老照片，照片上的{thing}夹在一片果园和一家皮货铺之间。",
        "{rival}提醒说，这件事最{quality}的地方，在于现存的地图上从来没有画过{part}。",
        "来自{place}的工程师提出一个{quality}的折中办法：{part}暂时不动，把{event}改到{season}举行。",
        "{event}期间，摊位上会卖{food}和{food}，所得的收入全部交给{body}。",
        "一名{trade}和一名{trade}在{day}走完了整段堤岸，记下{number}处被{creature}掏空的地方。",
        "自从{reason}，停靠{place}的船越来越少，{thing}旁边的候船室成了补渔网的地方。",
        "档案馆里有一张{year}年的账单，写着送来{number}桶桐油，收货的{trade}却始终没有付钱。",
        "想在搭脚手架之前看看{part}的人，可以在{day}过来，{hero}每次带{number}位客人参观。",
        "对{creature}来说，工地反倒成了好去处，因为{part}底下既避风又安静。",
        "{place}并不是头一回碰到这种事，{year}年{body}订做过新的{part}，账单还没有寄到，厂家就关门了。",
        "表决预计在{month}之前进行，不过{rival}说，{reason}可能会让日程再往后推一个{season}。",
        "按照老规矩，只有退潮的时候才能{doing}，就算是天气最好的{day}，工人也只有{number}分钟。",
        "{hero}一边吃着{food}，一边解释为什么{quality}的修补往往比新建一座{thing}更省钱。",
        "两年前，{body}曾经想把{thing}转让给邻村，对方只肯出{number}元再加一头牛。",
        "屋顶上的仪器测到每小时{number}公里的阵风，{part}嗡嗡作响，连{creature}都飞走了。",
        "用{rival}的话说，真正{quality}的是找到一位{trade}，还记得{year}年{part}是怎么装上去的。",
        "{event}的门票在{day}就卖完了，渡船将每隔{number}分钟开出一班，一直开到半夜。",
        "读者来信中赞成与反对的比例是{number}比{number}，嗓门最大的是{place}的一位{trade}。",
        "{thing}后面有一片草地，每到{month}就聚满了{creature}，{body}打算用篱笆把它围起来。",
        "{hero}的手艺是跟一位老{trade}学的，那位师傅当年只靠漂来的木头就把{part}重新装好。",
        "万一经费不够，{part}就先用帆布盖着，等到下一个{season}再说，{year}年也是这么办的。",
        "水文模型显示，{place}一带的河床每年淤高{number}厘米，是过去估计的两倍。",
        "为{event}排练的乐手已经搬进{thing}，他们说那里的回声相当{quality}。",
        "保险公司派来的人只待了{number}分钟，在车站吃了一份{food}，从{day}起就再也没有消息。",
    ],
}

ABOUT = ["hero", "rival", "place", "body", "thing", "event", "creature"]

EDITED = ["quality", "day", "season", "month", "number", "food"]

ADS = [
    "广告：青禾牌雨伞今日上市，老街全场包邮，送到家门口为止，先到先得。",
    "推广：周五之前在码头银行开立储蓄账户，即可获赠黄铜罗盘一只。",
    "广告：落星湖温泉本周尚有余房，早餐、浴衣与往返船票均已包含在内。",
    "推广：一个周末学会四十种绳结，零基础也可以报名，材料由本社提供。",
]

PHRASES = {
    "byline": "记者 {author} | {date}",
    "counters": "截至{date}，已有{readers}人从头到尾读完本文，读者一共留下{comments}条评论。",
    "credit": "本文首发于《{source}》。",
    "permission": "经《{source}》授权转载，谨此致谢。",
    "more": "更早的报道",
    "contact": "编辑部信箱：desk@{host}。",
    "moved": "本页已经搬到{path}，请更新您的书签。",
    "related": "本报其他报道",
    "rights": "版权所有 2031 {name}，未经许可不得转载。",
    "event_rules": "活动开始前半小时入场，自行车请停放在院内，可以携带拴绳的小狗，"
    "网上购买的门票在前一天中午之前可以退还。",
    "gone": "撤下的报道",
    "live": "实时报道",
}
