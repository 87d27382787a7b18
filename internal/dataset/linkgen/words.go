// The words of URLs.

package linkgen

// words are 256 words in ascending order.
var words = [256]string{
	"about", "academy", "account", "actor", "advice", "agenda", "album", "amateur", "analysis",
	"ancient", "answer", "antique", "april", "archive", "arena", "article", "artist", "atlas", "atom",
	"august", "autumn", "award", "balance", "banking", "baroque", "basket", "battery", "beauty",
	"benefit", "bicycle", "birth", "blossom", "board", "book", "border", "bottle", "branch", "breeze",
	"bridge", "bronze", "building", "business", "butter", "calendar", "camera", "campus", "candle",
	"captain", "carbon", "career", "catalog", "cathedral", "center", "ceramic", "chamber", "channel",
	"charity", "chemistry", "cherry", "children", "cinema", "circle", "citizen", "climate", "clinic",
	"coast", "college", "colour", "comedy", "company", "compass", "concert", "contact", "copper",
	"corner", "cotton", "country", "course", "craft", "customer", "daily", "dance", "data",
	"decision", "degree", "delta", "desert", "design", "detail", "dictionary", "digital", "dinner",
	"discount", "display", "district", "doctor", "dragon", "drama", "drawing", "early", "earth",
	"east", "education", "election", "electric", "element", "engine", "english", "entry", "estate",
	"evening", "event", "exhibit", "expert", "fabric", "family", "farm", "fashion", "feature",
	"festival", "field", "figure", "finance", "finger", "fishing", "floor", "flower", "focus", "food",
	"football", "foreign", "forest", "forum", "founder", "fountain", "friday", "friend", "fruit",
	"gallery", "game", "garden", "gazette", "geology", "gift", "glass", "gold", "golden", "grammar",
	"green", "group", "guide", "habitat", "harbour", "hardware", "harvest", "heritage", "history",
	"hobby", "home", "horizon", "hospital", "house", "human", "idea", "image", "index", "industry",
	"insect", "island", "item", "jacket", "journal", "journey", "july", "kernel", "kitchen", "label",
	"lake", "launch", "law", "leader", "legend", "letter", "library", "link", "list", "logic",
	"lunch", "magazine", "manual", "map", "market", "medal", "member", "metal", "method", "mobile",
	"museum", "music", "nature", "network", "night", "note", "number", "office", "opera", "orchard",
	"organ", "paper", "park", "people", "plan", "planet", "poem", "press", "product", "project",
	"quality", "question", "radio", "recipe", "record", "region", "report", "review", "river", "road",
	"season", "series", "service", "society", "sport", "station", "story", "student", "summer",
	"system", "team", "theatre", "ticket", "tour", "town", "travel", "update", "valley", "video",
	"village", "voyage", "walking", "water", "week", "winter", "woman", "writer", "yearbook", "young",
}
